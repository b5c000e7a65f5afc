// Channels over a WebSocket, in Phoenix's words: join, leave, heartbeat, broadcast to everybody on the topic.
// Messages are objects (version 1.0.0) or arrays (2.0.0); each client is answered in its own way.
import { json, serve } from '../lib/server.mjs';
import { accept } from '../lib/websocket.mjs';

const members = new Map(); // topic -> Map(socket -> its settings)

const words = {
  '1.0.0': { read: JSON.parse, write: JSON.stringify },
  '2.0.0': {
    read(message) {
      if (Buffer.isBuffer(message)) return readPush(message);
      const [join_ref, ref, topic, event, payload] = JSON.parse(message);
      return { join_ref, ref, topic, event, payload };
    },
    write(message) {
      const { join_ref, ref, topic, event, payload } = message;
      return payload?.packed ? writeBroadcast(message) : JSON.stringify([join_ref ?? null, ref ?? null, topic, event, payload]);
    },
  },
};

// Broadcasts of version 2.0.0 are packed: a kind, the sizes of what follows, then that, then the payload as it is.
const [PUSH, BROADCAST] = [3, 4];

function readPush(message) {
  if (message[0] !== PUSH) throw new Error(`a message of kind ${message[0]}`);
  let at = 7;
  const part = (n) => message.subarray(at, at += message[n]).toString();
  const [join_ref, ref, topic, name] = [part(1), part(2), part(3), part(4)];
  at += message[5];
  return { join_ref, ref, topic, event: 'broadcast', payload: { packed: true, name, encoding: message[6], data: message.subarray(at) } };
}

function writeBroadcast({ topic, payload: { name, encoding, data } }) {
  return Buffer.concat([Buffer.from([BROADCAST, topic.length, name.length, 0, encoding]), Buffer.from(topic + name), data]);
}

const server = serve((request, response) => json(response, 404, { message: 'WebSockets only' }));

accept(server, (socket, url) => {
  const { read, write } = words[url.searchParams.get('vsn')] ?? words['1.0.0'];
  socket.tell = (message) => socket.send(write(message));
  socket.onclose = () => { for (const here of members.values()) here.delete(socket); };
  socket.onmessage = (text) => {
    const { topic, event, payload, ref, join_ref } = read(text);
    const here = members.get(topic) ?? new Map();
    const reply = (response) => socket.tell({ topic, event: 'phx_reply', ref, join_ref, payload: { status: 'ok', response } });
    if (event === 'phx_join') {
      here.set(socket, { join_ref, self: payload?.config?.broadcast?.self === true });
      members.set(topic, here);
      reply({ postgres_changes: [] });
    } else if (event === 'phx_leave') {
      here.delete(socket);
      reply({});
    } else if (event === 'broadcast') {
      for (const [member, { self, join_ref: theirs }] of here) {
        if (member !== socket || self) member.tell({ topic, event, payload, ref: null, join_ref: theirs });
      }
      if (ref) reply({});
    } else {
      reply({}); // heartbeat, access_token, presence
    }
  };
});
