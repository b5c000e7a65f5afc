// Rows over HTTP, as PostgREST serves them: filters in the query, counts in Content-Range, and a HEAD that answers
// with the fields of its GET but with neither Content-Length nor Transfer-Encoding.
import { bodyOf, json, serve } from '../lib/server.mjs';

const tables = { todos: [], calls: [] };
let next = 1;

const matches = (row, url) => [...url.searchParams].every(([column, filter]) => {
  if (!filter.startsWith('eq.')) return true; // select=, order=, limit= and the rest leave all rows in
  return String(row[column]) === filter.slice(3);
});

function range(rows, request, url) {
  const limit = Number(url.searchParams.get('limit') ?? rows.length);
  const from = Number(url.searchParams.get('offset') ?? 0);
  const shown = rows.slice(from, from + limit);
  const counted = /count=exact/.test(request.headers.prefer ?? '');
  const span = shown.length ? `${from}-${from + shown.length - 1}` : '*';
  return { shown, status: counted && shown.length < rows.length ? 206 : 200,
    headers: { 'content-range': `${span}/${counted ? rows.length : '*'}` } };
}

// What a client asks for with .single(): the row itself.
const shape = (rows, request) => (/vnd\.pgrst\.object/.test(request.headers.accept ?? '') ? rows[0] : rows);

serve(async (request, response, url) => {
  const rows = tables[url.pathname.replace('/rest/v1/', '')];
  if (!rows) return json(response, 404, { code: '42P01', message: `no table at ${url.pathname}` });
  const found = rows.filter((row) => matches(row, url));
  const written = (status, out) => (/return=representation/.test(request.headers.prefer ?? '')
    ? json(response, status, shape(out, request)) : response.writeHead(status === 201 ? 201 : 204).end());
  switch (request.method) {
    case 'HEAD':
    case 'GET': {
      const { shown, status, headers } = range(found, request, url);
      if (request.method === 'HEAD') return response.writeHead(status, { 'content-type': 'application/json', ...headers }).end();
      return json(response, status, shape(shown, request), headers);
    }
    case 'POST': {
      const given = JSON.parse(await bodyOf(request));
      const added = [given].flat().map((row) => ({ id: next++, ...row }));
      rows.push(...added);
      return written(201, added);
    }
    case 'PATCH': {
      const change = JSON.parse(await bodyOf(request));
      for (const row of found) Object.assign(row, change);
      return written(200, found);
    }
    case 'DELETE':
      for (const row of found) rows.splice(rows.indexOf(row), 1);
      return written(200, found);
    default:
      return json(response, 405, { message: request.method });
  }
});
