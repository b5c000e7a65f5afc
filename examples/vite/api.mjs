// The API of the page: a counter that only POST moves.
import { json, serve } from '../lib/server.mjs';

let count = 0;

serve((request, response, url) => {
  if (url.pathname !== '/api/count') return json(response, 404, { message: url.pathname });
  if (request.method === 'POST') count += 1;
  return json(response, 200, { count });
});
