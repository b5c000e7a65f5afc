// Accounts and tokens, as GoTrue serves them.
import crypto from 'node:crypto';
import { bodyOf, json, serve } from '../lib/server.mjs';

const LIFETIME_S = 3600;
const users = new Map(), tokens = new Map();
const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const secret = crypto.randomBytes(32);

function session(user) {
  const expires = Math.floor(Date.now() / 1000) + LIFETIME_S;
  const claims = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode({ sub: user.id, exp: expires, jti: crypto.randomUUID() })}`;
  const token = `${claims}.${crypto.createHmac('sha256', secret).update(claims).digest('base64url')}`;
  tokens.set(token, user);
  return { access_token: token, token_type: 'bearer', expires_in: LIFETIME_S, expires_at: expires,
    refresh_token: crypto.randomUUID(), user };
}

const shown = (email) => ({ id: crypto.randomUUID(), aud: 'authenticated', role: 'authenticated', email,
  app_metadata: {}, user_metadata: {}, identities: [], created_at: new Date().toISOString() });

serve(async (request, response, url) => {
  const action = `${request.method} ${url.pathname.replace('/auth/v1', '')}`;
  const bearer = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  if (action === 'POST /signup') {
    const { email, password } = JSON.parse(await bodyOf(request));
    if (users.has(email)) return json(response, 422, { code: 'user_already_exists', message: 'User already registered' });
    users.set(email, { user: shown(email), password });
    return json(response, 200, session(users.get(email).user));
  }
  if (action === 'POST /token') {
    const { email, password } = JSON.parse(await bodyOf(request));
    const known = users.get(email);
    if (known?.password !== password) return json(response, 400, { code: 'invalid_credentials', message: 'Invalid login credentials' });
    return json(response, 200, session(known.user));
  }
  if (action === 'GET /user') {
    const user = tokens.get(bearer);
    return user ? json(response, 200, user) : json(response, 401, { code: 'no_authorization', message: 'Who is it?' });
  }
  if (action === 'POST /logout') {
    tokens.delete(bearer);
    return response.writeHead(204).end();
  }
  return json(response, 404, { message: action });
});
