/** The hooks that the host emits: connections, credentials, calls, configuration. */
import { denies, kept, never, recorded, skipped } from "./hook-facts.ts";
import { defineHook, defineKeyedHook } from "./hooks.ts";
import type { Principal, Role, Scope } from "./principal.ts";
import type { ConnectParams } from "./protocol/connect.ts";

/** A connection as plugins see it. */
export interface ConnectionInfo {
  readonly id: string;
  readonly remoteAddress: string;
  /** The peer and its `Host` header are this machine. Spec: protocol/frames-and-connect.md §8. */
  readonly local: boolean;
  readonly client: ConnectParams["client"] | undefined;
  readonly caps: readonly string[];
  readonly device: string | undefined;
  readonly principal: Principal | undefined;
}

/** A credential nobody has vouched for yet. */
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
  /** The gateway's own credential was right, or none is asked for: nothing but a pairing is missing. */
  readonly shared: boolean;
  /** It carries the `Origin` of a web page. */
  readonly fromPage: boolean;
}

/** Who a plugin says it is. The host keeps only scopes that were also asked for. */
export interface Identity {
  readonly id: string;
  readonly scopes: readonly Scope[];
}

/** A connection whose credential was accepted and that is not let in yet. */
export interface Admission extends ConnectionInfo {
  /** What it asked for, without its secrets. `device` was verified. */
  readonly connect: Omit<ConnectParams, "auth">;
  /** `connect.client.id` with aliases resolved. */
  readonly clientId: string;
  readonly principal: Principal;
  /** It carried the `Origin` of a web page. */
  readonly fromPage: boolean;
}

/** A device that asks to be let in. Spec: protocol/frames-and-connect.md §10. */
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

/** An event on its way out. */
export interface PublishedEvent {
  readonly event: string;
  readonly payload: unknown;
  /** It went to named connections only. */
  readonly isTargeted: boolean;
}

/** One method call on its way. `params` is frozen where a gate sees it. */
export interface RpcCall {
  readonly method: string;
  readonly params: unknown;
  readonly principal: Principal;
  readonly connectionId: string | undefined;
}

/** Keys are the names plugins use: `gateway.hooks.<key>`. */
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
    when: "A stop or restart begins, before sockets close.",
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
    when: "A new configuration passed its schemas, before it is used or written.",
    returns: "A denial: the configuration is refused, the running one stays.",
    throws: denies,
  }),
  configChanged: defineHook<{ changed: readonly string[] }>()("series", {
    name: "configChanged",
    owner: "host",
    when: "A new configuration is in use, after the plugins it concerns were told or reloaded.",
    returns: never,
    throws: recorded,
  }),
  connectionOpened: defineHook<ConnectionInfo>()("observe", {
    name: "connectionOpened",
    owner: "host",
    when: "A WebSocket was opened; nothing is verified.",
    returns: never,
    throws: recorded,
  }),
  authenticate: defineHook<AuthAttempt, Identity>()("first", {
    name: "authenticate",
    owner: "host",
    when: "`connect` carries a credential the shared secret check refused, or a device that needs more than that. Spec: §5.1.",
    returns: "Who it is.",
    throws: `${skipped} Nobody answers: refused.`,
  }),
  admit: defineHook<Admission>()("gate", {
    name: "admit",
    owner: "host",
    when: "A credential was accepted, before `hello-ok`: bans and maintenance. Not for the key of the state directory.",
    returns: "A denial with its reason; `code` and `details` go to the client.",
    throws: denies,
  }),
  admitDevice: defineHook<Admission>()("gate", {
    name: "admitDevice",
    owner: "host",
    when: "As `admit` and behind it, for connections that proved a device: whether it is paired. Others do not depend on who stands here.",
    returns: "A denial with its reason; `code` and `details` go to the client, e.g. `NOT_PAIRED`.",
    throws: denies,
  }),
  deviceToken: defineHook<Admission, DeviceToken>()("first", {
    name: "deviceToken",
    owner: "host",
    when: "A connection with a verified device was admitted.",
    returns: "The token that device may come back with: `hello-ok.auth`.",
    throws: `${skipped} Nobody answers: \`hello-ok\` has no \`auth\`.`,
  }),
  pairing: defineHook<AuthAttempt, PairingRequest>()("first", {
    name: "pairing",
    owner: "host",
    when: "A device proved its key, and nobody vouches for it: it is about to be refused with `NOT_PAIRED`.",
    returns: "The request somebody may approve, which the client is told.",
    throws: `${skipped} The client is refused without one.`,
  }),
  hello: defineHook<Record<string, unknown>>()("waterfall", {
    name: "hello",
    owner: "host",
    when: "`hello-ok` is put together.",
    returns: "The `snapshot` with more keys; the host's own keys win.",
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
    when: "By event: it was handed to the connections it is for.",
    returns: never,
    throws: "Recorded; the third throw removes the tap.",
  }),
  rpcParams: defineKeyedHook<{ params: unknown; principal: Principal }>()("waterfall", {
    name: "rpcParams",
    owner: "host",
    when: "By method: a call passed its scope, before validation.",
    returns: "New params; they are validated.",
    throws: kept,
  }),
  rpcBefore: defineKeyedHook<RpcCall>()("gate", {
    name: "rpcBefore",
    owner: "host",
    when: "By method: the params are final and frozen.",
    returns: "A denial: the caller gets UNAVAILABLE with the reason. Or a question for people.",
    throws: denies,
    asks: true,
  }),
  rpcResult: defineKeyedHook<{ result: unknown; principal: Principal }>()("waterfall", {
    name: "rpcResult",
    owner: "host",
    when: "By method: the handler answered.",
    returns: "A new result.",
    throws: kept,
  }),
  rpcAfter: defineHook<{ method: string; ok: boolean; code?: string; durationMs: number; principal: Principal }>()(
    "observe",
    {
      name: "rpcAfter",
      owner: "host",
      when: "A call was answered, over any transport.",
      returns: never,
      throws: recorded,
    },
  ),
  credentialsEnded: defineHook<{ reason: string }>()("observe", {
    name: "credentialsEnded",
    owner: "host",
    when: "Credentials ended, and connections by them are closed: whoever works for a principal asks `Credentials.isLive` again.",
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
    when: "An HTTP request arrived, before routing and before auth.",
    returns: "A reply that ends the request.",
    throws: skipped,
  }),
} as const;
