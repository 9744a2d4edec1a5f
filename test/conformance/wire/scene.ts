/** A gateway with one method of each kind, and clients that send exactly what a protocol row describes. */
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import type { TestContext } from "node:test";
import { type Audience, defineContract, defineEvent, definePlugin, type Plugin, Type } from "@svc/sdk";
import type { ConnectParams } from "@svc/sdk/protocol";
import type { HostedGateway } from "@svc/sdk/testing";
import { connectFrame, openRaw, type RawFrame, type RawSocket } from "../../raw-socket.ts";
import { sharedScene, startHost } from "../../host/net/host-scene.ts";

const Any = Type.Unknown();
const Loose = Type.Object({});
const wire = defineContract("wire", {
  echo: {
    summary: "-",
    scope: "operator.read",
    params: Type.Object({ text: Type.Optional(Type.String()) }, { additionalProperties: false }),
    result: Any,
  },
  give: { summary: "-", scope: "none", params: Type.Object({ value: Type.Optional(Any) }), result: Any },
  fail: { summary: "-", scope: "none", params: Loose, result: Any },
  tell: { summary: "-", scope: "none", params: Loose, result: Any },
  who: { summary: "-", scope: "none", role: "any", params: Loose, result: Any },
  admin: { summary: "-", scope: "operator.admin", params: Loose, result: Any },
});
const told = defineEvent({ name: "wire.told", summary: "-", payload: Any });
const guarded = defineEvent({ name: "wire.guarded", summary: "-", payload: Any, scope: "operator.approvals" });

/** Error text of a faulty plugin, which no client may see. */
export const BUG = "the wire plugin broke";

/** Vouches for the device token `issued` with `operator.write`, and gives all other clients a request id. */
export const wirePlugin: Plugin = definePlugin({
  id: "wire",
  api: "^1.0.0",
  setup(gateway) {
    const tell: (payload: unknown, audience?: Audience) => void = gateway.event(told);
    const warn: (payload: unknown) => void = gateway.event(guarded);
    gateway.hooks.authenticate.tap(({ connect: { auth } }) =>
      auth?.deviceToken === "issued" || auth?.token === "issued"
        ? { id: "device:known", scopes: ["operator.write"] }
        : undefined,
    );
    gateway.hooks.pairing.tap(({ deviceId }) =>
      deviceId === undefined ? undefined : { requestId: "request-1", reason: "not-paired" },
    );
    gateway.hooks.deviceToken.tap(({ principal }) => ({
      deviceToken: "t".repeat(43),
      role: principal.role,
      scopes: [...principal.scopes],
      issuedAtMs: 1,
    }));
    gateway.serve(wire, {
      echo: ({ params }) => params,
      give: ({ params }) => params.value,
      fail() {
        throw new TypeError(BUG);
      },
      tell({ connection }) {
        tell("to all");
        warn("to approvers");
        tell("to you", { connections: connection ? [connection.id] : [] });
        return { done: true };
      },
      who: ({ principal, connection }) => ({ principal, id: connection?.id }),
      admin: () => ({}),
    });
    gateway.route({
      method: "POST",
      path: "/plugins/wire/closed",
      auth: "gateway",
      scope: "operator.read",
      summary: "-",
      body: Type.Object({}),
      maxBodyBytes: 1_024,
      handler: ({ principal }) => ({ body: { id: principal?.id } }),
    });
  },
});

export interface Scene {
  readonly gateway: HostedGateway;
  readonly url: string;
  readonly token: string | undefined;
  open(headers?: Record<string, string>): Promise<RawSocket>;
  /** An accepted connection. */
  join(params?: object, headers?: Record<string, string>): Promise<RawSocket>;
  /** Outcome of a `connect`. */
  attempt(params?: object, headers?: Record<string, string>, frame?: object): Promise<Outcome>;
}

export interface Outcome {
  readonly answer: RawFrame | undefined;
  /** `details.code`, else the message; `ok` when it was accepted. */
  readonly told: string;
  /** Absent when it was accepted. */
  readonly close: { readonly code: number; readonly reason: string } | undefined;
}

export async function start(t: TestContext, config: object = {}, options: object = {}): Promise<Scene> {
  const gateway = await startHost(t, { plugins: [wirePlugin], config, ...options });
  const { url, auth } = gateway;
  const open = (headers: Record<string, string> = {}) => openRaw(url, headers);
  return {
    gateway,
    url,
    token: auth.token,
    open,
    async join(params = {}, headers = {}) {
      const socket = await open(headers);
      socket.send(connectFrame(auth.token, params));
      await socket.next(({ id, ok }) => id === "c1" && ok === true);
      return socket;
    },
    async attempt(params = {}, headers = {}, frame = {}) {
      const socket = await open(headers);
      socket.send(connectFrame(auth.token, params, frame));
      const outcome = await outcomeOf(socket);
      const { error } = outcome.answer ?? {};
      // Every refusal names the next step.
      if (error) assert.ok(JSON.stringify(error.details?.["nextStep"] ?? "").length > 10, `what next? ${outcome.told}`);
      return outcome;
    },
  };
}

/** One gateway for all tests of the `describe` this is called in. */
export const shared = (config: object = {}, options: object = {}): (() => Scene) =>
  sharedScene((t) => start(t, config, options));

/** Waits for the response to the `connect`, or for a close without one. */
export async function outcomeOf(socket: RawSocket): Promise<Outcome> {
  const answer = await socket.next(({ id }) => id === "c1").catch(() => undefined);
  if (answer?.ok === true) {
    socket.ws.close();
    await socket.closed;
    return { answer, told: "ok", close: undefined };
  }
  const code = answer?.error?.details?.["code"];
  const told = typeof code === "string" ? code : (answer?.error?.message ?? "closed without an answer");
  return { answer, told, close: await socket.closed };
}

let serial = 0;

/** Calls a method and waits for its response. */
export async function ask(socket: RawSocket, method: string, more: object = {}): Promise<RawFrame> {
  const mine = `ask-${++serial}`;
  socket.send({ type: "req", id: mine, method, ...more });
  return socket.next(({ id }) => id === mine);
}

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const raw = Buffer.from(String(publicKey.export({ format: "jwk" }).x), "base64url");
export const KEY = { id: createHash("sha256").update(raw).digest("hex"), raw, publicKey };

export interface ProofOptions {
  readonly version?: "v2" | "v3";
  /** Fields of `device` that are sent instead, not signed. */
  readonly sent?: Record<string, unknown>;
  /** Fields of the payload that are signed instead, in payload order from `id` on. */
  readonly signed?: Record<string, string>;
  /** Milliseconds between now and the signed time. */
  readonly skewMs?: number;
}

/** `params` with a proof for this socket's challenge, implemented independently of the gateway. */
export function withProof(socket: RawSocket, params: Partial<ConnectParams> = {}, options: ProofOptions = {}): object {
  const { version = "v3", sent = {}, signed = {}, skewMs = 0 } = options;
  const signedAt = Date.now() + skewMs;
  const nonce = String(socket.frames.find(({ event }) => event === "connect.challenge")?.payload?.["nonce"]);
  const client = params.client ?? { id: "cli", version: "1", platform: "linux", mode: "cli" };
  const { role = "operator", scopes = ["operator.read"], auth = {} } = params;
  const fields = {
    id: KEY.id,
    clientId: client.id,
    mode: client.mode,
    role,
    scopes: scopes.join(","),
    signedAt: String(signedAt),
    token: auth.token ?? auth.deviceToken ?? "",
    nonce,
    ...(version === "v3" ? { platform: client.platform.toLowerCase(), family: client.deviceFamily ?? "" } : {}),
    ...signed,
  };
  const payload = [version, ...Object.values(fields)].join("|");
  const signature = sign(null, Buffer.from(payload), privateKey).toString("base64url");
  const device = { id: KEY.id, publicKey: raw.toString("base64url"), signature, signedAt, nonce, ...sent };
  return { ...params, client, role, scopes, auth, device };
}
