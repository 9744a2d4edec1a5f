/** A gateway with local and remote devices that send raw frames, and the frames they receive. */
import type { TestContext } from "node:test";
import type { Plugin } from "@svc/sdk";
import type { GatewayClient } from "@svc/sdk/client";
import { createDevice, type KeptDevice } from "@svc/sdk/device";
import { devices } from "@svc/sdk/devices";
import type { ConnectParams } from "@svc/sdk/protocol";
import { type FakeClock, testGateway } from "@svc/sdk/testing";
import devicesPlugin from "../../../plugins/devices/plugin.ts";
import { openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";

export const SECRET = "the-shared-secret-of-this-test";
export const READ = "operator.read";
export const WRITE = "operator.write";
export const ADMIN = "operator.admin";
export const PAIRING = "operator.pairing";

export { createDevice, type KeptDevice };

/** What one connect sends; each test changes one thing. */
export interface Attempt {
  readonly device?: KeptDevice;
  /** Default: none, so that the connection proves no device. */
  readonly role?: "operator" | "node";
  readonly scopes?: readonly string[];
  readonly auth?: ConnectParams["auth"];
  readonly client?: Partial<ConnectParams["client"]>;
  readonly caps?: readonly string[];
  readonly commands?: readonly string[];
  /** Default: from this machine. */
  readonly far?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
  readonly version?: "v2" | "v3";
  /** Encoding of the public key. */
  readonly publicKey?: string;
}

/** The response to a connect. */
export interface Outcome {
  readonly socket: RawSocket;
  readonly ok: boolean;
  readonly frame: RawFrame;
  /** `hello-ok.auth` */
  readonly auth:
    | { readonly deviceToken: string; readonly role: string; readonly scopes: string[]; readonly issuedAtMs?: number }
    | undefined;
  readonly code: string | undefined;
  readonly message: string | undefined;
  readonly details: Record<string, unknown>;
  /** Settles when the connection is closed. */
  readonly closed: RawSocket["closed"];
}

/** Sends one connect and waits for the response. */
export async function knock(url: string, attempt: Attempt): Promise<Outcome> {
  const headers = { ...(attempt.far ? { host: "gateway.example" } : {}), ...attempt.headers };
  const socket = await openRaw(url, headers);
  const nonce = String(socket.frames.find(({ event }) => event === "connect.challenge")?.payload?.["nonce"]);
  socket.send({ type: "req", id: "c1", method: "connect", params: connectParams(attempt, nonce) });
  const frame = await socket.next(({ id }) => id === "c1");
  const { code, message, details } = frame.error ?? {};
  const auth = frame.payload?.["auth"] as Outcome["auth"];
  return { socket, ok: frame.ok === true, frame, auth, code, message, details: details ?? {}, closed: socket.closed };
}

function connectParams(attempt: Attempt, nonce: string): ConnectParams {
  const { device, role = "operator", scopes = [], auth, client, caps, commands, version = "v3" } = attempt;
  const params: ConnectParams = {
    minProtocol: 3,
    maxProtocol: 3,
    client: { id: "cli", version: "1", platform: "linux", mode: "cli", ...client },
    role,
    scopes: [...scopes],
    ...(auth ? { auth } : {}),
    ...(caps ? { caps: [...caps] } : {}),
    ...(commands ? { commands: [...commands] } : {}),
  };
  if (device) {
    const signedAt = Date.now();
    const token = auth?.token ?? auth?.deviceToken ?? "";
    const { id, mode, platform, deviceFamily = "" } = params.client;
    const lower = (text: string) => text.trim().replace(/[A-Z]/g, (letter) => letter.toLowerCase());
    const parts = [version, device.id, id, mode, role, scopes.join(","), signedAt, token, nonce];
    const text = [...parts, ...(version === "v3" ? [lower(platform), lower(deviceFamily)] : [])].join("|");
    const publicKey = attempt.publicKey ?? device.publicKey;
    params.device = { id: device.id, publicKey, signature: device.sign(text), signedAt, nonce };
  }
  return params;
}

export type Scene = Awaited<ReturnType<typeof openScene>>;

export interface SceneOptions {
  readonly config?: Readonly<Record<string, unknown>>;
  readonly stateDir?: string;
  readonly clock?: FakeClock;
  readonly plugins?: readonly (Plugin | string)[];
  /** Default: SQLite. */
  readonly storage?: Plugin;
  readonly gateway?: Readonly<Record<string, unknown>>;
  readonly auth?: Readonly<Record<string, unknown>>;
}

/** Starts a gateway with the secret `SECRET`; sockets are closed with the test. */
export async function openScene(t: TestContext, options: SceneOptions = {}) {
  const { config = {}, stateDir, clock, plugins = [], gateway = {}, auth = { token: SECRET } } = options;
  const sockets: RawSocket[] = [];
  t.after(() => sockets.forEach(({ ws }) => ws.terminate()));
  const test = await testGateway(t, {
    plugins: [options.storage ?? "storage-sqlite", devicesPlugin, ...plugins],
    config: { gateway: { auth }, ...config },
    ...(stateDir === undefined ? {} : { stateDir }),
    gateway: { ...(clock ? { clock } : {}), ...gateway },
  });
  const { url } = test.gateway;
  const events: { readonly event: string; readonly payload: Record<string, unknown> }[] = [];
  test.client.onEvent(({ event, payload }) => events.push({ event, payload: payload as Record<string, unknown> }));
  const open = async (attempt: Attempt = {}) => {
    const outcome = await knock(url, attempt);
    sockets.push(outcome.socket);
    return outcome;
  };
  const shared = (device: KeptDevice, attempt?: Attempt) => open({ device, auth: { token: SECRET }, ...attempt });
  const list = () => test.client.call(devices.list, {});
  return {
    ...test,
    url,
    /** Events that the operator received, oldest first. */
    events,
    knock: open,
    /** With the gateway's secret. */
    shared,
    /** With a device token only. */
    byToken: (device: KeptDevice, deviceToken: string, attempt?: Attempt) =>
      open({ device, auth: { token: deviceToken, deviceToken }, ...attempt }),
    /** Pairs it silently, from this machine. @returns the response */
    async pair(device: KeptDevice, attempt?: Attempt) {
      const outcome = await shared(device, attempt);
      if (!outcome.auth) throw new Error(`not paired: ${JSON.stringify(outcome.frame)}`);
      return { ...outcome, auth: outcome.auth };
    },
    list,
    paired: async ({ id }: KeptDevice) => (await list()).paired.find(({ deviceId }) => deviceId === id),
  };
}

/** Waits until all earlier events have arrived, by a round trip. */
export async function settled({ client }: { readonly client: GatewayClient }): Promise<void> {
  await client.call(devices.list, {});
}

/** The reason in the refusal of a device. */
export function reasonOf({ details }: Outcome): unknown {
  return details["reason"];
}

/** The request id in the refusal of a device. @throws Error the refusal is not about pairing */
export function requestOf(outcome: Outcome): string {
  const { requestId, code } = outcome.details;
  if (code !== "PAIRING_REQUIRED" || typeof requestId !== "string")
    throw new Error(`no request: ${JSON.stringify(outcome.frame)}`);
  return requestId;
}
