/** Manages the connection of a node: connecting, executing invocations, and closing. Spec: protocol/clients.md §4. */
import { matches, messageOf } from "@svc/sdk";
import { type ClientOptions, type CloseInfo, connect, type DeviceIdentity, type GatewayClient } from "@svc/sdk/client";
import { keepDeviceToken, type KeptToken, readDeviceToken } from "@svc/sdk/device";
import { nodeInvokeRequest } from "@svc/sdk/nodes";
import { type ConnectionEnd, judgeRefusal, WITH_SECRET } from "./connection-end.ts";
import { createAnswering } from "./invocations.ts";
import type { NodeCommands } from "./node-commands.ts";
import type { NodeState } from "./node-states.ts";
import type { NodeTarget } from "./target.ts";
import type { Uplink } from "./uplink.ts";

/** Identity, commands and reporting of a node. */
export interface NodeLife {
  readonly target: NodeTarget;
  readonly device: DeviceIdentity;
  /** Directory of the device tokens. */
  readonly identityDirectory: string;
  readonly displayName: string;
  readonly pathEnv: string;
  readonly commands: NodeCommands;
  readonly uplink: Uplink;
  readonly report: (state: NodeState) => void;
  /** Stops the node. */
  readonly signal: AbortSignal;
  /** Ends running programs; their results are still sent. */
  readonly endCommands: () => void;
  readonly random?: () => number;
  readonly now?: () => number;
}

const ROLE = "node";

/** Maximum remembered invocation ids. */
const MAX_SEEN = 1_000;

/** A connection and its pending invocations. */
export class Room {
  readonly #life: NodeLife;
  readonly #answering: ReturnType<typeof createAnswering>;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #seen = new Set<string>();
  #client: GatewayClient | undefined;
  #tokenWasRefused = false;

  constructor(life: NodeLife) {
    this.#life = life;
    this.#answering = createAnswering(life.commands.byName, (text) => life.report({ state: "note", text }));
  }

  /** Connects and waits until the connection ends. @returns `undefined`: stopped, with the connection still open */
  async stay(): Promise<ConnectionEnd | undefined> {
    const { target, identityDirectory, signal, uplink } = this.#life;
    const kept = readDeviceToken(identityDirectory, target.url, ROLE)?.token;
    if (kept === undefined && target.secret === undefined && this.#tokenWasRefused) return tokenTakenBack();
    const connecting = this.#connect(kept);
    const client = await unlessAborted(connecting, signal).catch((error: unknown) => this.#refused(error, kept));
    if (client === undefined) {
      void connecting.then(
        (late) => late.close(),
        () => undefined,
      );
      return undefined;
    }
    if ("kind" in client) return client;
    this.#client = client;
    const closed = new Promise<CloseInfo>((resolve) => client.onClose(resolve));
    this.#admitted(client, kept);
    const close = await unlessAborted(closed, signal);
    if (close === undefined) return undefined;
    uplink.detach();
    this.#client = undefined;
    return { kind: "lost", why: `the gateway closed: ${close.code}${close.reason ? ` ${close.reason}` : ""}` };
  }

  #admitted(client: GatewayClient, kept: string | undefined): void {
    const { target, device, displayName, report, uplink, now = Date.now } = this.#life;
    const { auth } = client.hello;
    this.#tokenWasRefused = false;
    const { deviceToken: token, scopes = [], role } = auth ?? {};
    if (token !== undefined && role === ROLE && token !== kept) this.#keep({ token, scopes, updatedAtMs: now() });
    report({ state: "connected", url: target.url, nodeId: device.id, displayName });
    uplink.attach(client);
  }

  #refused(error: unknown, kept: string | undefined): ConnectionEnd {
    const end = judgeRefusal(error, kept !== undefined);
    if (end.kind !== "token-refused") return end;
    const { target, report } = this.#life;
    this.#keep(undefined);
    this.#tokenWasRefused = true;
    const next = target.secret === undefined ? "" : "; retrying with the gateway's own secret";
    report({ state: "note", text: `the gateway no longer accepts this device's token; the token was deleted${next}` });
    return end;
  }

  /** Choice: a failed write does not stop the node; it then needs the gateway's secret for its next connect. */
  #keep(token: KeptToken | undefined): void {
    const { target, identityDirectory, report } = this.#life;
    try {
      keepDeviceToken(identityDirectory, target.url, ROLE, token);
    } catch (error) {
      const why = messageOf(error);
      report({ state: "note", text: `the token of this device was not stored: ${why}` });
    }
  }

  /** Choice: the device token is used before the gateway's secret, so that the secret is sent only when needed. */
  #connect(kept: string | undefined): Promise<GatewayClient> {
    const { target, device, displayName, pathEnv, commands } = this.#life;
    const options: ClientOptions = {
      url: target.url,
      ...(target.tlsFingerprint === undefined ? {} : { tlsFingerprint: target.tlsFingerprint }),
      ...(kept === undefined ? target.secret : { deviceToken: () => kept }),
      device,
      role: ROLE,
      scopes: [],
      caps: ["system"],
      commands: commands.declared,
      pathEnv,
      client: { id: "node-host", mode: "node", displayName, platform: process.platform },
      onEvent: (frame) => {
        if (frame.event === nodeInvokeRequest.name) this.#take(connecting, frame.payload);
      },
    };
    const connecting = connect(options);
    return connecting;
  }

  #take(connecting: Promise<GatewayClient>, payload: unknown): void {
    const { device, uplink, report } = this.#life;
    if (!matches(nodeInvokeRequest.payload, payload) || payload.nodeId !== device.id) {
      return report({ state: "note", text: "the gateway sent an invocation in an unknown format; it is ignored" });
    }
    if (!this.#isNew(payload.id)) return;
    const work = this.#answering(payload)
      .then(async (answer) => uplink.answer(await connecting, device.id, answer))
      .catch(() => undefined) // connecting failed
      .finally(() => this.#inFlight.delete(work));
    this.#inFlight.add(work);
  }

  /** Choice: a repeated invocation is executed once. */
  #isNew(id: string): boolean {
    if (this.#seen.has(id)) return false;
    this.#seen.add(id);
    const [oldest] = this.#seen;
    if (this.#seen.size > MAX_SEEN && oldest !== undefined) this.#seen.delete(oldest);
    return true;
  }

  /** Ends running commands, sends their results, and closes the connection. */
  async leave(): Promise<void> {
    this.#life.endCommands();
    await Promise.all(this.#inFlight);
    await this.#life.uplink.flush();
    this.#life.uplink.detach();
    await this.#client?.close();
    this.#client = undefined;
  }
}

function tokenTakenBack(): ConnectionEnd {
  return {
    kind: "refused",
    why: "the gateway has revoked the token of this device",
    next: `${WITH_SECRET}; then run svc devices approve on the gateway if required`,
  };
}

/** Removes its abort listener afterwards. @returns `undefined`: the signal aborted first */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const onAbort = () => resolve(undefined);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
