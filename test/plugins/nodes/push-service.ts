/** Plays the push service on this machine: HTTP/2 without TLS, for `http2.connect` to either of its addresses. */
import { generateKeyPairSync, verify } from "node:crypto";
import http2, { type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

export interface Push {
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface PushAnswer {
  readonly status: number;
  readonly body?: string;
  /** The connection breaks instead. */
  readonly breaks?: boolean;
  /** No answer at all. */
  readonly hangs?: boolean;
}

const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
export const KEY = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
export const CREDENTIALS = { SVC_APNS_TEAM_ID: "TEAM123456", SVC_APNS_KEY_ID: "KEY1234567", SVC_APNS_PRIVATE_KEY: KEY };
export const TOKEN = "0123456789abcdef".repeat(4);

/** Sets variables of this process; they are removed with the test. */
export function setEnvironment(t: TestContext, env: Readonly<Record<string, string>> = CREDENTIALS): void {
  for (const name of Object.keys(process.env)) if (name.startsWith("SVC_APNS_")) delete process.env[name];
  Object.assign(process.env, env);
  t.after(() => {
    for (const name of Object.keys(env)) delete process.env[name];
  });
}

export async function pushService(t: TestContext) {
  const pushes: Push[] = [];
  const state: { answer: PushAnswer } = { answer: { status: 200 } };
  const server = http2.createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => sessions.add(session));
  server.on("stream", (stream: ServerHttp2Stream, headers) => {
    let text = "";
    stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    stream.on("error", () => undefined);
    stream.on("end", () => {
      const { status, body, breaks, hangs } = state.answer;
      pushes.push({
        origin: origins.shift() ?? "",
        headers: headers as Record<string, string>,
        body: JSON.parse(text),
      });
      if (hangs) return;
      if (breaks) return stream.session?.destroy();
      stream.respond({ ":status": status, "apns-id": `id-${pushes.length}` });
      stream.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const origins: string[] = [];
  const real = http2.connect;
  t.mock.method(http2, "connect", (origin: string) => {
    origins.push(origin);
    return real(`http://127.0.0.1:${port}`);
  });
  t.after(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { pushes, state };
}

/** Header and claims of a bearer token with a valid signature. */
export function claimsOf(authorization: string): { header: unknown; claims: { iss: string; iat: number } } {
  const [head = "", claims = "", signature = ""] = authorization.replace(/^bearer /, "").split(".");
  const key = { key: publicKey, dsaEncoding: "ieee-p1363" } as const;
  const isValid = verify("sha256", Buffer.from(`${head}.${claims}`), key, Buffer.from(signature, "base64url"));
  if (!isValid) throw new Error("the signature is wrong");
  const part = (text: string) => JSON.parse(Buffer.from(text, "base64url").toString()) as never;
  return { header: part(head), claims: part(claims) };
}
