// Requests to the server that these pages came from. An error has the server's own sentence.

export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

const PATIENCE_MS = 15_000;

async function request(method, path, body) {
  const options = { method, credentials: "same-origin", headers: { accept: "application/json" }, signal: AbortSignal.timeout(PATIENCE_MS) };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["content-type"] = "application/json";
  }
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new ApiError(0, "the server does not answer");
  }
  if (answer.status === 401) {
    location.assign("login");
    throw new ApiError(401, "the session is over: log in again");
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new ApiError(answer.status, content.errors?.[0] ?? `the server answered ${answer.status}`);
  return content;
}

export const get = (path) => request("GET", `v1/${path}`);
export const post = (path, body = {}) => request("POST", `v1/${path}`, body);
export const patch = (path) => request("PATCH", `v1/${path}`);

const job = (id) => `jobs/${encodeURIComponent(id)}`;

/** Starts a savepoint, or a stop with one, and waits for it; gives where it is. */
export async function savepoint(id, directory, { stops = false, drain = false } = {}) {
  const asked = stops
    ? await post(`${job(id)}/stop`, { targetDirectory: directory, drain })
    : await post(`${job(id)}/savepoints`, { "target-directory": directory });
  for (;;) {
    await new Promise((done) => setTimeout(done, 400));
    const told = await get(`${job(id)}/savepoints/${asked["request-id"]}`);
    if (told.status.id !== "COMPLETED") continue;
    const failure = told.operation["failure-cause"];
    if (failure) throw new ApiError(409, failure["stack-trace"]);
    return told.operation.location;
  }
}

export const cancel = (id) => patch(`${job(id)}?mode=cancel`);
