/**
 * Sign-in at OpenRouter with PKCE: a person agrees in the browser, and OpenRouter issues a key for this gateway. Spec: RFC
 * 7636; OpenRouter documentation, "OAuth PKCE".
 */
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sameOriginFetch } from "@svc/kit/same-origin";
import { GatewayError, invalidRequest, unavailable } from "@svc/sdk";
import { messageOf } from "@svc/sdk/errors";
import { boundedJson, fieldOf } from "../discovery/bounded-json.ts";

/** Choice: milliseconds until an unfinished sign-in ends; maximum milliseconds and bytes of the exchange. */
const SIGN_IN_MS = 300_000;
const EXCHANGE_MS = 15_000;
const MAX_BYTES = 65_536;
/** Choice: maximum length of a code and of a key. */
const MAX_CHARS = 4_096;

export interface SignInOptions {
  /** Shows the address that the person opens. */
  readonly show: (url: string) => void;
  /** Default: OpenRouter. */
  readonly site?: string;
  /** Milliseconds; default 5 minutes. */
  readonly timeoutMs?: number;
}

/**
 * Waits for the browser at a free port of 127.0.0.1. The address of the callback contains a random state, so that no other
 * page can deliver a code.
 * @returns the key
 * @throws GatewayError `UNAVAILABLE` nobody signed in, or no response; `INVALID_REQUEST` the person or OpenRouter refused
 */
export async function signInAtOpenRouter({
  show,
  site = "https://openrouter.ai",
  timeoutMs = SIGN_IN_MS,
}: SignInOptions): Promise<string> {
  const state = randomBytes(32).toString("base64url");
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const code = await receiveCode(state, timeoutMs, (callback) => {
    const url = new URL("/auth", site);
    url.searchParams.set("callback_url", callback);
    url.searchParams.set("code_challenge", challenge);
    url.searchParams.set("code_challenge_method", "S256");
    show(url.href);
  });
  return exchange(site, { code, code_verifier: verifier, code_challenge_method: "S256" });
}

/** The first code that arrives with the state; the server then closes. */
async function receiveCode(state: string, timeoutMs: number, opened: (callback: string) => void): Promise<string> {
  const server = createServer();
  const received = new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(late(timeoutMs)), timeoutMs);
    server.once("close", () => clearTimeout(timer));
    server.on("request", (request: IncomingMessage, response: ServerResponse) => {
      const { pathname, searchParams } = new URL(request.url ?? "/", "http://127.0.0.1");
      if (request.method !== "GET" || pathname !== `/callback/${state}`) return answer(response, 404, "Not found.");
      const code = searchParams.get("code") ?? "";
      if (code !== "" && code.length <= MAX_CHARS) {
        answer(response, 200, "Signed in. You can close this window and return to the terminal.");
        return resolve(code);
      }
      answer(response, 400, "The sign-in was not completed. Return to the terminal.");
      return reject(new Refused());
    });
  });
  received.catch(() => undefined); // awaited below, after the server listens
  try {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo; // it listens at a port
    opened(`http://localhost:${port}/callback/${state}`);
    return await received;
  } catch (error) {
    if (error instanceof Refused)
      invalidRequest("OpenRouter did not send a code: the sign-in was refused or cancelled");
    throw error;
  } finally {
    server.close();
    server.closeIdleConnections();
  }
}

class Refused extends Error {}

function late(timeoutMs: number): GatewayError {
  return new GatewayError(
    "UNAVAILABLE",
    `nobody signed in within ${Math.round(timeoutMs / 1_000)} s; nothing was written`,
  );
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(`${text}\n`);
}

async function exchange(site: string, body: Readonly<Record<string, string>>): Promise<string> {
  const url = new URL("/api/v1/auth/keys", site);
  const response = await sameOriginFetch()(url.href, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(EXCHANGE_MS),
  }).catch((error: unknown) =>
    unavailable(`${url.origin} does not respond: ${messageOf(Object(error).cause ?? error)}`),
  );
  if (!response.ok) {
    await response.body?.cancel();
    invalidRequest(`OpenRouter refused the sign-in (${response.status})\nNext: svc models auth openrouter`);
  }
  const key = fieldOf(await boundedJson(response, MAX_BYTES, url.origin), "key");
  const isKey = typeof key === "string" && /^\S+$/u.test(key) && key.length <= MAX_CHARS;
  return isKey ? key : unavailable("OpenRouter sent no key");
}
