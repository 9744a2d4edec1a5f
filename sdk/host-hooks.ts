/** The hooks that the host emits: connections, credentials, calls, configuration. */
import { denies, kept, never, recorded, skipped } from "./hook-facts.ts";
import { defineHook, defineKeyedHook, type Denial } from "./hooks.ts";
import type { Principal, Role, Scope } from "./principal.ts";
import type { ConnectParams } from "./protocol/connect.ts";

/** A connection, as shown to plugins. */
export interface ConnectionInfo {
  readonly id: string;
  readonly remoteAddress: string;
  /** Both the peer address and the `Host` header belong to this machine. Spec: protocol/frames-and-connect.md §8. */
  readonly local: boolean;
  /**
   * Address under which the client reached the gateway, e.g. `http://192.168.1.5:18789`, from its `Host` header.
   * Absent: it sent no usable one.
   */
  readonly address?: string | undefined;
  readonly client: ConnectParams["client"] | undefined;
  readonly caps: readonly string[];
  readonly device: string | undefined;
  readonly principal: Principal | undefined;
}

/** A credential that has not been verified yet. */
export interface AuthAttempt {
  readonly connectionId: string;
  readonly remoteAddress: string;
  readonly local: boolean;
  readonly connect: ConnectParams;
  /** `connect.client.id` with aliases resolved. */
  readonly clientId: string;
  readonly role: Role;
  /** Set when the device proof was verified. */
  readonly deviceId: string | undefined;
  /** The shared credential of the gateway was valid, or none is required; only a pairing may be missing. */
  readonly shared: boolean;
  /** The request carries the `Origin` header of a web page. */
  readonly fromPage: boolean;
}

/** Identity that a plugin asserts for a client. The host grants only the scopes that the client also requested. */
export interface Identity {
  readonly id: string;
  readonly scopes: readonly Scope[];
}

/** A connection whose credential was accepted, before it is admitted. */
export interface Admission extends ConnectionInfo {
  /** Parameters of `connect` without secrets. `device` has been verified. */
  readonly connect: Omit<ConnectParams, "auth">;
  /** `connect.client.id` with aliases resolved. */
  readonly clientId: string;
  readonly principal: Principal;
  /** The request carried the `Origin` header of a web page. */
  readonly fromPage: boolean;
}

/** A pending pairing request of a device. Spec: protocol/frames-and-connect.md §10. */
export interface PairingRequest {
  readonly requestId?: string;
  readonly reason: "not-paired" | "metadata-upgrade" | "role-upgrade" | "scope-upgrade";
}

/** Token of a paired device. Spec: protocol/frames-and-connect.md §11. */
export interface DeviceToken {
  readonly deviceToken: string;
  readonly role: string;
  readonly scopes: readonly string[];
  /** epoch ms */
  readonly issuedAtMs?: number;
}

/** An event that is being published. */
export interface PublishedEvent {
  readonly event: string;
  readonly payload: unknown;
  /** The event was sent to named connections only. */
  readonly isTargeted: boolean;
  /** Another gateway on the same state has published it. */
  readonly isForeign?: true;
}

/** A method call in progress. `params` is frozen in gates. */
export interface RpcCall {
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly connectionId: string | undefined;
}

/** Each key is the name a plugin uses: `gateway.hooks.<key>`. */
export const hostHooks = {
  hostReady: defineHook<{ url: string }>()("series", {
    name: "hostReady",
    owner: "host",
    when: "The port accepts connections.",
    returns: never,
    throws: recorded,
  }),
  hostStopping: defineHook<{ reason: string }>()("observe", {
    name: "hostStopping",
    owner: "host",
    when: "A stop or restart begins, before any socket is closed.",
    returns: never,
    throws: recorded,
    deadlineMs: 5_000,
  }),
  pluginState: defineHook<{ id: string; from: string; to: string; reason?: string }>()("observe", {
    name: "pluginState",
    owner: "host",
    when: "A plugin changes state after the gateway has started.",
    returns: never,
    throws: recorded,
  }),
  configValidate: defineHook<{ config: unknown; previous: unknown; changed: readonly string[] }>()("gate", {
    name: "configValidate",
    owner: "host",
    when: "A new configuration matches all schemas; it is not yet written or in use.",
    returns: "A denial rejects the new configuration; the running one stays in use.",
    throws: denies,
  }),
  configChanged: defineHook<{ changed: readonly string[] }>()("series", {
    name: "configChanged",
    owner: "host",
    when: "A new configuration is in use, and the plugins it affects have been notified or reloaded.",
    returns: never,
    throws: recorded,
  }),
  connectionOpened: defineHook<ConnectionInfo>()("observe", {
    name: "connectionOpened",
    owner: "host",
    when: "A WebSocket was opened; nothing has been verified yet.",
    returns: never,
    throws: recorded,
  }),
  authenticate: defineHook<AuthAttempt, Identity | Denial>()("first", {
    name: "authenticate",
    owner: "host",
    when: "`connect` carries a credential that the shared-secret check rejected, or a device that needs further verification. Spec: §5.1.",
    returns:
      "The identity of the client. A denial, for a credential that only this plugin issues and that is not valid: the client gets its reason instead of that of the shared secret.",
    throws: `${skipped} Without an answer the connection is refused.`,
  }),
  admit: defineHook<Admission>()("gate", {
    name: "admit",
    owner: "host",
    when: "A credential was accepted, before `hello-ok`; meant for bans and maintenance. Does not run for the key of the state directory.",
    returns: "A denial with its reason; `code` and `details` are sent to the client.",
    throws: denies,
  }),
  admitDevice: defineHook<Admission>()("gate", {
    name: "admitDevice",
    owner: "host",
    when: "After `admit`, only for connections that proved a device: decides whether the device is paired. Connections without a device skip this hook.",
    returns: "A denial with its reason; `code` and `details` are sent to the client, e.g. `NOT_PAIRED`.",
    throws: denies,
  }),
  deviceToken: defineHook<Admission, DeviceToken>()("first", {
    name: "deviceToken",
    owner: "host",
    when: "A connection with a verified device was admitted.",
    returns: "The token with which the device may reconnect; sent as `hello-ok.auth`.",
    throws: `${skipped} Without an answer \`hello-ok\` has no \`auth\`.`,
  }),
  pairing: defineHook<AuthAttempt, PairingRequest>()("first", {
    name: "pairing",
    owner: "host",
    when: "A device proved its key but no plugin accepted it; it is about to be refused with `NOT_PAIRED`.",
    returns: "The pending pairing request, which is reported to the client.",
    throws: `${skipped} Without an answer the refusal names no request.`,
  }),
  hello: defineHook<Record<string, unknown>>()("waterfall", {
    name: "hello",
    owner: "host",
    when: "`hello-ok` is being assembled.",
    returns: "The `snapshot` with additional keys; the keys of the host take precedence.",
    throws: kept,
  }),
  helloFields: defineHook<{
    readonly connection: ConnectionInfo;
    readonly fields: Readonly<Record<string, unknown>>;
  }>()("waterfall", {
    name: "helloFields",
    owner: "host",
    when: "`hello-ok` is being assembled for a connection that was admitted.",
    returns:
      "The input with additional `fields`, which become keys of `hello-ok`; the keys of the host take precedence.",
    throws: kept,
  }),
  connectionReady: defineHook<ConnectionInfo>()("observe", {
    name: "connectionReady",
    owner: "host",
    when: "`hello-ok` was sent.",
    returns: never,
    throws: recorded,
  }),
  connectionClosed: defineHook<ConnectionInfo & { code: number }>()("observe", {
    name: "connectionClosed",
    owner: "host",
    when: "A WebSocket closed, accepted or not.",
    returns: never,
    throws: recorded,
  }),
  eventPublished: defineKeyedHook<PublishedEvent>()("trace", {
    name: "eventPublished",
    owner: "host",
    when: "Per event name: after the event was published here, or received from another gateway on the same state (`isForeign`).",
    returns: never,
    throws: "Recorded; the third throw removes the handler.",
  }),
  rpcParams: defineKeyedHook<{ params: unknown; principal: Principal }>()("waterfall", {
    name: "rpcParams",
    owner: "host",
    when: "Per method: after the scope check, before validation.",
    returns: "Replacement params; they are validated.",
    throws: kept,
  }),
  rpcBefore: defineKeyedHook<RpcCall>()("gate", {
    name: "rpcBefore",
    owner: "host",
    when: "Per method: after validation; the params are final and frozen.",
    returns: "A denial: the caller receives UNAVAILABLE with the reason. Alternatively, a question for an approver.",
    throws: denies,
    asks: true,
  }),
  rpcResult: defineKeyedHook<{ result: unknown; principal: Principal }>()("waterfall", {
    name: "rpcResult",
    owner: "host",
    when: "Per method: after the handler returned.",
    returns: "A replacement result.",
    throws: kept,
  }),
  rpcAfter: defineHook<{ method: string; ok: boolean; code?: string; durationMs: number; principal: Principal }>()(
    "observe",
    {
      name: "rpcAfter",
      owner: "host",
      when: "After every call, over any transport.",
      returns: never,
      throws: recorded,
    },
  ),
  credentialsEnded: defineHook<{ reason: string }>()("observe", {
    name: "credentialsEnded",
    owner: "host",
    when: "Credentials ended and their connections are being closed. Plugins that work on behalf of a principal must check `Credentials.isLive` again.",
    returns: never,
    throws: recorded,
  }),
  httpRequest: defineHook<
    {
      method: string;
      path: string;
      headers: Readonly<Record<string, string | string[] | undefined>>;
      remoteAddress: string;
    },
    { status: number; body?: unknown }
  >()("first", {
    name: "httpRequest",
    owner: "host",
    when: "An HTTP request arrived, before routing and authentication.",
    returns: "A response, which ends the request.",
    throws: skipped,
  }),
} as const;
