/**
 * Decides whether a connection is admitted: the handshake, the gates of plugins, then `hello-ok`. It never touches the
 * socket. Spec: §2.3, §3; protocol/frames-and-connect.md §5-§11.
 */
import {
  type Admission as AdmissionInput,
  type ConnectionInfo,
  type Denial,
  GatewayError,
  HOOKS,
  isGatewayError,
  type Principal,
} from "@svc/sdk";
import { refusal } from "@svc/sdk/errors";
import {
  connectChallenge,
  type Generation,
  type HelloOk,
  MAX_BUFFERED_BYTES,
  MAX_PAYLOAD_BYTES,
  RESUME_CAP,
  shutdown,
  tick,
  TICK_INTERVAL_MS,
} from "@svc/sdk/protocol";
import type { Access } from "../../auth/access.ts";
import { type HookBus, refusalOf } from "../../hooks/hook-bus.ts";
import type { LiveTables } from "../../kernel/kind.ts";
import { events } from "../../kernel/kinds/events.ts";
import { advertised } from "../../kernel/kinds/methods.ts";
import { VERSION } from "../../version.ts";
import type { Broadcaster } from "./broadcast.ts";
import { type Identified, connectRefusal, handshake, type HandshakeContext } from "./handshake.ts";

/** Sent when the credential changed or was revoked while the connection was being accepted. */
export const REPLACED = "unauthorized: the credential was replaced while connecting; connect again";

export interface AdmissionOptions {
  readonly hooks: HookBus;
  readonly kinds: LiveTables;
  readonly broadcaster: Broadcaster;
  readonly access: Access;
  /** Sent to admins in `hello-ok`. */
  readonly paths: { readonly configPath: string; readonly stateDir: string };
}

/** The connection as the handshake needs it. */
export type Visitor = Pick<HandshakeContext, "connectionId" | "peer" | "nonce">;

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #hooks;
  readonly #methods: () => readonly string[];
  #refusing = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    const { hooks, kinds } = options;
    this.#methods = advertised(kinds);
    this.#hooks = {
      authenticate: hooks.emitter(HOOKS.authenticate),
      pairing: hooks.emitter(HOOKS.pairing),
      admit: hooks.emitter(HOOKS.admit),
      admitDevice: hooks.emitter(HOOKS.admitDevice),
      deviceToken: hooks.emitter(HOOKS.deviceToken),
      hello: hooks.emitter(HOOKS.hello),
      helloFields: hooks.emitter(HOOKS.helloFields),
    };
  }

  /** Admits no further connection: the gateway is stopping. */
  refuse(): void {
    this.#refusing = true;
  }

  /** Reads the first request of a connection. @throws HandshakeRefusal */
  identify(text: string, visitor: Visitor): Promise<Identified> {
    const { authenticate, pairing } = this.#hooks;
    return handshake(text, {
      ...visitor,
      now: Date.now(),
      access: this.#options.access,
      vouch: (attempt) => authenticate.emit(attempt),
      pairing: (attempt) => pairing.emit(attempt),
    });
  }

  /** Asks the gates. @returns the response to `connect`. @throws HandshakeRefusal when a gate denies */
  async admit(info: ConnectionInfo, identified: Identified, fromPage: boolean): Promise<HelloOk> {
    try {
      return await this.#admit(info, identified, fromPage);
    } catch (error) {
      throw isGatewayError(error) ? connectRefusal(identified.requestId, error, identified.generation) : error;
    }
  }

  async #admit(
    info: ConnectionInfo,
    { params, clientId, principal, deviceId, generation }: Identified,
    fromPage: boolean,
  ): Promise<HelloOk> {
    if (this.#refusing) throw new GatewayError("UNAVAILABLE", "the gateway is stopping", { retryAfterMs: 1_000 });
    const { admit, deviceToken } = this.#hooks;
    // Choice (spec/README.md "connect written from the contract alone"): operators without a device are sent their role and scopes, too.
    let auth: HelloOk["auth"] =
      deviceId === undefined ? { role: principal.role, scopes: [...principal.scopes] } : undefined;
    if (admit.isUsed() || deviceId !== undefined) {
      const { auth: _secrets, ...connect } = params;
      const admission = { ...info, connect, clientId, principal, fromPage };
      const denial = await this.#denial(admission);
      if (denial) throw refusalOf(denial, "CONNECT_DENIED");
      const token = deviceId === undefined ? undefined : await deviceToken.emit(admission);
      auth = token ? { ...token, scopes: [...token.scopes] } : auth;
    }
    const extra = await this.#hooks.hello.emit({});
    const fields = await this.#fields(info);
    if (!this.#options.access.authority.isLive(principal)) throw refusal("AUTH_UNAUTHORIZED", REPLACED);
    const hello = { ...fields, ...this.#hello(info.id, extra, principal, generation) };
    if (auth) hello.auth = auth;
    if (params.caps?.includes(RESUME_CAP)) {
      const { cursor, missed } = this.#options.broadcaster.resume(params.resume);
      hello.resume = { cursor, complete: missed !== undefined };
    }
    return hello;
  }

  /** Keys of `hello-ok` that plugins add. */
  async #fields(connection: ConnectionInfo): Promise<Readonly<Record<string, unknown>>> {
    const { helloFields } = this.#hooks;
    if (!helloFields.isUsed()) return {};
    const { auth: _auth, resume: _resume, ...fields } = (await helloFields.emit({ connection, fields: {} })).fields;
    return fields; // the host decides about the two keys that it may leave out
  }

  async #denial(admission: AdmissionInput): Promise<Denial | undefined> {
    // A client that can read the state directory could remove any plugin, so no gate stops it: it may connect to repair one.
    if (admission.principal.provenance === "local") return undefined;
    const { admit, admitDevice } = this.#hooks;
    const denial = await admit.emit(admission);
    return denial ?? (admission.device === undefined ? undefined : admitDevice.emit(admission));
  }

  /** Spec: §2.3, protocol/frames-and-connect.md §11. */
  #hello(connId: string, extra: Record<string, unknown>, { scopes }: Principal, { protocol }: Generation): HelloOk {
    const { kinds, broadcaster, access, paths } = this.#options;
    return {
      type: "hello-ok",
      protocol,
      server: { version: VERSION, connId },
      features: {
        methods: [...this.#methods()],
        events: [connectChallenge.name, tick.name, shutdown.name, ...kinds.table(events).names()],
      },
      snapshot: {
        ...extra,
        stateVersion: broadcaster.stateVersion,
        uptimeMs: Math.round(process.uptime() * 1_000),
        authMode: access.authority.settings.mode,
        ...(scopes.includes("operator.admin") ? { configPath: paths.configPath, stateDir: paths.stateDir } : {}),
      },
      policy: {
        maxPayload: MAX_PAYLOAD_BYTES.afterConnect,
        maxBufferedBytes: MAX_BUFFERED_BYTES,
        tickIntervalMs: TICK_INTERVAL_MS,
      },
    };
  }
}
