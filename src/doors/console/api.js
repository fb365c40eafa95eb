// Requests to the server. The token comes from the fragment of the printed URL and is kept for this tab only.

const place = 'harness.token';

// Moves the token from the address bar into sessionStorage. True if there is one.
export function takeToken() {
  const match = /^#token=([0-9A-Za-z._~-]+)$/.exec(location.hash);
  if (match) {
    sessionStorage.setItem(place, match[1]);
    history.replaceState(null, '', `${location.pathname}${location.search}#runs`);
  }
  return sessionStorage.getItem(place) !== null;
}

export const headers = () => ({ Authorization: `Bearer ${sessionStorage.getItem(place) ?? ''}` });

export class ApiError extends Error {
  constructor(status, body) {
    const error = body?.error ?? {};
    super(error.message || `the server answered with status ${status}`);
    this.status = status;
    this.hint = error.hint || hintFor(status);
    this.body = body;
  }
}

function hintFor(status) {
  if (status === 401) return 'The token is not valid any more. Open the URL that harness console printed last.';
  if (status === 403) return 'The server refuses this. If the project is not trusted yet, run harness trust in a terminal.';
  if (status === 429) return 'Too many attempts with a wrong token. Wait a minute, then open the printed URL again.';
  if (status === 503) return 'The server is busy. Close other tabs of the console and try again.';
  return null;
}

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers }, credentials: 'omit', cache: 'no-store' });
  } catch (e) {
    if (e.name === 'AbortError') throw e;
    throw Object.assign(new Error('The server does not answer.'), { hint: 'Is harness console still running? Start it again and open the URL that it prints.', offline: true });
  }
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null));
  return response;
}

// GET with a query; parameters that are empty are left out.
export async function get(path, query = {}, { signal } = {}) {
  const used = Object.entries(query).filter(([, v]) => v !== '' && v !== null && v !== undefined && v !== false);
  const text = new URLSearchParams(used.map(([k, v]) => [k, v === true ? '1' : v])).toString();
  return (await request(`api/${path}${text && `?${text}`}`, { signal })).json();
}

export async function post(path, body = {}) {
  return (await request(`api/${path}`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) })).json();
}

// The bytes of an artifact; the browser gets them as a download, never as a page.
export async function download(path, name) {
  const bytes = await (await request(`api/${path}`)).blob();
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export async function open(path, options) {
  return request(`api/${path}`, options);
}
