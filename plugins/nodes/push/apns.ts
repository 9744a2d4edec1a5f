/** Sends push messages to Apple devices, over HTTP/2 with a signed token. */
import { sign } from "node:crypto";
import type { ClientHttp2Session } from "node:http2";
import { withDeadline } from "@svc/kit/time";
import { type Clock, GatewayError, isGatewayError, lazy } from "@svc/sdk";
import type { PushCredentials } from "./credentials.ts";
import type { PushRegistration } from "./store.ts";

const http2 = lazy(() => import("node:http2"));

const ORIGINS: Readonly<Record<PushRegistration["environment"], string>> = {
  production: "https://api.push.apple.com",
  sandbox: "https://api.sandbox.push.apple.com",
};
/** Choice: milliseconds for a message. */
const TIMEOUT_MS = 10_000;
/** Milliseconds for which a signed token is used again; the service accepts it for an hour. */
const TOKEN_MS = 50 * 60_000;
/** Choice: maximum bytes of a response that are read. */
const MAX_ANSWER = 4_096;

/** `alert`: shown to the person. `background`: wakes the app. */
export interface PushMessage {
  readonly type: "alert" | "background";
  readonly payload: object;
}

/** What the push service answered. */
export interface PushOutcome {
  readonly ok: boolean;
  /** HTTP status. */
  readonly status: number;
  readonly apnsId?: string;
  readonly reason?: string;
}

export class Apns {
  readonly #clock: Pick<Clock, "now" | "setTimeout">;
  #token: { readonly digest: string; readonly text: string; readonly until: number } | undefined;

  constructor(clock: Pick<Clock, "now" | "setTimeout">) {
    this.#clock = clock;
  }

  /**
   * Opens a connection for this message only, since messages are rare.
   * @throws GatewayError `UNAVAILABLE`: the service cannot be reached, or did not answer within 10 s; the reason of the signal
   */
  async send(
    credentials: PushCredentials,
    { token, topic, environment }: PushRegistration,
    { type, payload }: PushMessage,
    signal: AbortSignal,
  ): Promise<PushOutcome> {
    const headers = {
      ":method": "POST",
      ":path": `/3/device/${token}`,
      authorization: `bearer ${this.#signed(credentials)}`,
      "apns-topic": topic,
      "apns-push-type": type,
      "apns-priority": type === "alert" ? "10" : "5",
      "content-type": "application/json",
    };
    const { default: client } = await http2();
    const late = () => `the push service did not answer within ${TIMEOUT_MS} ms`;
    return withDeadline({ ms: TIMEOUT_MS, clock: this.#clock, signals: [signal], late }, async (ending) => {
      const session = client.connect(ORIGINS[environment]);
      try {
        return await answerOf(session, headers, JSON.stringify(payload), ending);
      } catch (error) {
        if (ending.aborted || isGatewayError(error)) throw error;
        const { code = "failed" } = Object(error) as { readonly code?: string };
        throw new GatewayError("UNAVAILABLE", `the push service cannot be reached (${code}); try again later`);
      } finally {
        session.destroy();
      }
    });
  }

  #signed({ teamId, keyId, key, digest }: PushCredentials): string {
    const now = this.#clock.now();
    if (this.#token?.digest === digest && this.#token.until > now) return this.#token.text;
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const signed = `${part({ alg: "ES256", kid: keyId })}.${part({ iss: teamId, iat: Math.floor(now / 1_000) })}`;
    const signature = sign("sha256", Buffer.from(signed), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
    const text = `${signed}.${signature}`;
    this.#token = { digest, text, until: now + TOKEN_MS };
    return text;
  }
}

function answerOf(
  session: ClientHttp2Session,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<PushOutcome> {
  return new Promise((resolve, reject) => {
    session.on("error", reject);
    signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    const request = session.request(headers);
    let outcome = { ok: false, status: 0 };
    let text = "";
    request.setEncoding("utf8");
    request.once("response", ({ ":status": status = 0, "apns-id": apnsId }) => {
      outcome = { ok: status === 200, status, ...(typeof apnsId === "string" && { apnsId: apnsId.slice(0, 100) }) };
    });
    request.on("data", (chunk: string) => (text = (text + chunk).slice(0, MAX_ANSWER)));
    request.on("error", reject);
    request.once("end", () => {
      const reason = reasonIn(text);
      if (outcome.status === 0) reject(new Error("no response"));
      else resolve({ ...outcome, ...(reason !== undefined && { reason }) });
    });
    request.end(body);
  });
}

function reasonIn(text: string): string | undefined {
  try {
    const { reason } = Object(JSON.parse(text)) as { readonly reason?: unknown };
    return typeof reason === "string" ? reason.replace(/[^\w .-]/g, "").slice(0, 100) : undefined;
  } catch {
    return undefined;
  }
}
