// Files in buckets: uploads are taken as they come and hashed, downloads can be asked for in part.
import crypto from 'node:crypto';
import { bodyOf, json, serve } from '../lib/server.mjs';

const MULTIPART = /^multipart\/form-data; *boundary="?([^";]+)/;
const files = new Map();

// The file of a form: the part that has a name of its own, or else no field name at all.
function fileOf(body, boundary) {
  for (const part of body.toString('latin1').split(`--${boundary}`)) {
    const at = part.indexOf('\r\n\r\n');
    const head = part.slice(0, at);
    if (at > 0 && (/filename=/.test(head) || /name=""/.test(head))) {
      return { type: /content-type: *([^\r\n]+)/i.exec(head)?.[1], data: Buffer.from(part.slice(at + 4, -2), 'latin1') };
    }
  }
  return { data: Buffer.alloc(0) };
}

async function upload(request, response, name) {
  const type = request.headers['content-type'] ?? 'application/octet-stream';
  const body = await bodyOf(request);
  const form = MULTIPART.exec(type);
  const file = form ? fileOf(body, form[1]) : { data: body };
  files.set(name, { type: file.type ?? type, data: file.data, etag: crypto.createHash('sha256').update(file.data).digest('hex') });
  json(response, 200, { Key: name, Id: crypto.randomUUID() });
}

function download(request, response, file) {
  const headers = { 'content-type': file.type, etag: `"${file.etag}"`, 'accept-ranges': 'bytes' };
  const asked = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  if (!asked) return response.writeHead(200, { ...headers, 'content-length': file.data.length }).end(file.data);
  const from = Number(asked[1]), to = asked[2] ? Math.min(Number(asked[2]), file.data.length - 1) : file.data.length - 1;
  headers['content-range'] = `bytes ${from}-${to}/${file.data.length}`;
  return response.writeHead(206, { ...headers, 'content-length': to - from + 1 }).end(file.data.subarray(from, to + 1));
}

serve(async (request, response, url) => {
  const path = decodeURIComponent(url.pathname.replace('/storage/v1/object/', ''));
  if (request.method === 'POST' && path.startsWith('list/')) {
    await bodyOf(request);
    const bucket = path.slice(5);
    const names = [...files.keys()].filter((name) => name.startsWith(`${bucket}/`));
    return json(response, 200, names.map((name) => ({ name: name.slice(bucket.length + 1), id: files.get(name).etag,
      metadata: { size: files.get(name).data.length, mimetype: files.get(name).type } })));
  }
  if (request.method === 'POST' || request.method === 'PUT') return upload(request, response, path);
  if (request.method === 'DELETE') {
    const { prefixes = [] } = JSON.parse((await bodyOf(request)).toString() || '{}');
    return json(response, 200, prefixes.filter((name) => files.delete(`${path}/${name}`)).map((name) => ({ name })));
  }
  const file = files.get(path.replace(/^(public|authenticated)\//, ''));
  return file ? download(request, response, file) : json(response, 404, { statusCode: '404', message: 'Object not found' });
});
