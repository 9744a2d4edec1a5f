/** Mints principals and knows which of them are still valid: the only place that creates authority. */
import { isDeepStrictEqual } from "node:util";
import { coversScope, type Principal, type Role, SCOPES } from "@svc/sdk";
import { type Ended, nothingEnded } from "./ended.ts";
import type { AuthSettings } from "./settings.ts";

type Provenance = Principal["provenance"];

/**
 * Choice: maximum number of revocations stored individually. Beyond it, the oldest revocation is dropped, and every
 * principal from before that revocation is dead.
 */
const MAX_REVOKED = 10_000;

/** The credentials that any change of the settings ends, all at once. */
export const SHARED_PROVENANCES: readonly Provenance[] = Object.freeze(["token", "password", "none", "trusted-proxy"]);

const PROXY_PREFIX = "trusted-proxy:";
const PLUGIN_PREFIX = "plugin:";
const WEBHOOK_PREFIX = "webhook:";
/** Marks a device among the revocations; no principal id begins with it. */
const DEVICE_PREFIX = "\u0000device:";
/** Choice: a webhook's runs act on external content, so they get less than the operator who configured them. */
const WEBHOOK_SCOPES: readonly string[] = Object.freeze(["operator.read", "operator.write"]);

/** Names that clients use for a scope in addition to its own. Spec: spec/README.md "admin scope". */
const SCOPE_ALIASES: ReadonlyMap<string, string> = new Map([["admin", "operator.admin"]]);

/** The scopes a connection requests, aliases resolved, without duplicates. */
export function requestedScopes(scopes: readonly string[] = []): string[] {
  return [...new Set(scopes.map((scope) => SCOPE_ALIASES.get(scope) ?? scope))];
}

/** The scopes of `wanted` that `held` contains or covers. A node holds exactly the scopes it names. Spec: frames-and-connect.md §7. */
function within(held: readonly string[], wanted: readonly string[], role: Role): string[] {
  const covered = role === "node" ? [] : SCOPES.filter((scope) => coversScope(held, scope));
  return wanted.filter((scope) => held.includes(scope) || covered.some((known) => known === scope));
}

/** The same principal, limited to those of `scopes` that it holds or covers; identity and epoch stay, so it ends with its source. */
export function narrow(principal: Principal, scopes: readonly string[]): Principal {
  return mint({ ...principal, scopes: within(principal.scopes, scopes, principal.role) });
}

/** Principal of a plugin, with exactly the scopes its package requests. It never ends; the kernel stops plugins by other means. */
export function pluginPrincipal(id: string, scopes: readonly string[]): Principal {
  return mint({ id: PLUGIN_PREFIX + id, role: "operator", scopes, provenance: "plugin", epoch: 0 });
}

/** Every principal minted in this process; an object that only looks like one is not included. */
const minted = new WeakSet<Principal>();

function mint({ id, role, scopes, provenance, epoch, device, onShared }: Principal): Principal {
  const principal = Object.freeze({
    id,
    role,
    scopes: Object.freeze([...scopes]),
    provenance,
    epoch,
    ...proven(device),
    ...(onShared ? { onShared } : {}),
  });
  minted.add(principal);
  return principal;
}

/**
 * The principal a plugin's call is made for. A principal minted here is used as it is; any other object, from storage or
 * invented, may do no more than the plugin itself.
 * @param own the plugin's own principal
 */
export function actingFor(asked: Principal, own: Principal): Principal {
  if (minted.has(asked)) return asked;
  return mint({ ...asked, scopes: within(own.scopes, asked.scopes, own.role) });
}

/** Further facts from the verification of a credential. */
interface Circumstances {
  /** Epoch in which the credential was checked. Default: the current one. */
  readonly since?: number;
  /** Id of the device whose proof was verified. */
  readonly device?: string | undefined;
  /** The gateway's own credential admitted the client, so the principal ends with it. */
  readonly onShared?: boolean;
}

function proven(device: string | undefined): { readonly device?: string } {
  return device === undefined ? {} : { device };
}

export class Authority {
  #settings: AuthSettings;
  /** Grows with every change of a credential and never falls; a principal carries the epoch in which its credential was verified. */
  #epoch: number;
  /** Shared credentials verified in an earlier epoch are dead. */
  #sharedSince: number;
  /** Revocations before this epoch are unknown: all principals of an earlier epoch are dead, except plugins. */
  #unknownBefore: number;
  /** By principal id, in order of revocation: credentials of this epoch and earlier ones are dead. */
  readonly #revoked: Map<string, number>;

  /** @param ended revocations from before this start */
  constructor(settings: AuthSettings, ended: Ended = nothingEnded(1)) {
    this.#settings = settings;
    this.#epoch = ended.epoch;
    this.#sharedSince = ended.sharedSince;
    this.#unknownBefore = ended.unknownBefore;
    this.#revoked = new Map(Object.entries(ended.revoked));
  }

  get settings(): AuthSettings {
    return this.#settings;
  }

  /**
   * The current epoch. A caller that waits between checking a credential and minting reads it before the check and passes it
   * as `since`: a principal whose credential was changed or revoked in between is dead from the start.
   */
  get epoch(): number {
    return this.#epoch;
  }

  /** All revocations so far, to be stored across restarts. */
  get ended(): Ended {
    return {
      epoch: this.#epoch,
      sharedSince: this.#sharedSince,
      unknownBefore: this.#unknownBefore,
      revoked: Object.fromEntries(this.#revoked),
    };
  }

  /**
   * Applies new settings; any change ends all principals of shared credentials.
   * @returns the provenances that ended, whose connections must be closed; empty when nothing changed
   */
  replace(settings: AuthSettings): readonly Provenance[] {
    if (isDeepStrictEqual(settings, this.#settings)) return [];
    this.#settings = settings;
    this.#epoch += 1;
    this.#sharedSince = this.#epoch;
    return SHARED_PROVENANCES;
  }

  /** Ends all principals with this id; those minted from now on are live. Plugins cannot be revoked. @param id of a principal, or from `revocableDevice` */
  revoke(id: string): void {
    this.#end(id, this.#epoch);
    this.#epoch += 1;
  }

  /**
   * Adds what was revoked at another gateway on the same state, and continues above its epoch. Each gateway has its own shared credential, and its own
   * gaps in what it knows.
   * @returns whether more has ended here
   */
  merge({ epoch, revoked }: Ended): boolean {
    let isMore = false;
    this.#epoch = Math.max(this.#epoch, epoch);
    for (const [id, at] of Object.entries(revoked)) {
      if (at < this.#unknownBefore || at <= (this.#revoked.get(id) ?? 0)) continue;
      this.#end(id, at);
      isMore = true;
    }
    return isMore;
  }

  #end(id: string, at: number): void {
    this.#revoked.delete(id);
    this.#revoked.set(id, at);
    const [oldest] = this.#revoked;
    if (this.#revoked.size <= MAX_REVOKED || !oldest) return;
    this.#revoked.delete(oldest[0]);
    this.#unknownBefore = Math.max(this.#unknownBefore, oldest[1] + 1);
  }

  /**
   * Whether the credential behind a principal, also one stored on disk, is still valid. Runs on every call, so it allocates
   * nothing. A webhook's principal ends like a device's: by its id.
   */
  isLive({ id, provenance, epoch, device, onShared }: Principal): boolean {
    if (provenance === "plugin") return true;
    if (epoch < this.#unknownBefore) return false;
    const relies = provenance === "device" ? onShared === true : provenance !== "webhook" && provenance !== "local";
    if (relies && epoch < this.#sharedSince) return false;
    if (this.#revoked.size === 0) return true;
    const revokedAt = this.#revoked.get(id) ?? 0;
    const deviceRevokedAt = device === undefined ? 0 : (this.#revoked.get(DEVICE_PREFIX + device) ?? 0);
    return epoch > revokedAt && epoch > deviceRevokedAt;
  }

  /** A client with the gateway's shared secret, or in mode `none`: all requested scopes are granted. */
  sharedPrincipal(
    role: Role,
    scopes: readonly string[],
    { since = this.#epoch, device }: Circumstances = {},
  ): Principal {
    const { mode } = this.#settings;
    if (mode === "trusted-proxy") throw new Error("mode trusted-proxy knows users: mint with proxyPrincipal");
    return mint({ id: mode, role, scopes, provenance: mode, epoch: since, ...proven(device) });
  }

  /** A user named by a trusted proxy: all requested scopes are granted. */
  proxyPrincipal(
    user: string,
    role: Role,
    scopes: readonly string[],
    { since = this.#epoch, device }: Circumstances = {},
  ): Principal {
    const id = PROXY_PREFIX + user;
    return mint({ id, role, scopes, provenance: "trusted-proxy", epoch: since, ...proven(device) });
  }

  /** A client that can read the gateway's state directory: all requested scopes are granted. Ends only with the process. */
  localPrincipal(scopes: readonly string[], { since = this.#epoch, device }: Circumstances = {}): Principal {
    return mint({ id: "local", role: "operator", scopes, provenance: "local", epoch: since, ...proven(device) });
  }

  /** A client that a plugin vouched for: never more scopes than requested. @throws Error the id is malformed or belongs to another kind of credential */
  vouchedPrincipal(
    id: string,
    role: Role,
    vouched: readonly string[],
    requested: readonly string[],
    { since = this.#epoch, device, onShared = false }: Circumstances = {},
  ): Principal {
    checkVouchedId(id);
    const scopes = within(vouched, requested, role);
    const shared = onShared ? { onShared } : {};
    return mint({ id, role, scopes, provenance: "device", epoch: since, ...proven(device), ...shared });
  }

  pluginPrincipal(id: string, scopes: readonly string[]): Principal {
    return pluginPrincipal(id, scopes);
  }

  /** Principal of a webhook: it may read and write as an operator, but not approve, pair or administer. */
  webhookPrincipal(mapping: string): Principal {
    const id = WEBHOOK_PREFIX + mapping;
    return mint({ id, role: "operator", scopes: WEBHOOK_SCOPES, provenance: "webhook", epoch: this.#epoch });
  }
}

/** For `Authority.revoke`: all principals that proved this device. */
export function revocableDevice(deviceId: string): string {
  return DEVICE_PREFIX + deviceId;
}

/** Prefixes and names that other provenances use. */
const RESERVED = /^(token|password|none|local|trusted-proxy|trusted-proxy:.*|plugin:.*|webhook:.*)$/is;

function checkVouchedId(id: string): void {
  const why =
    id.trim() === "" || id !== id.trim()
      ? "it is blank or has surrounding blanks"
      : id.length > 256 || /\p{C}/u.test(id)
        ? "it is too long or contains invisible characters"
        : RESERVED.test(id)
          ? "that id belongs to another kind of credential"
          : undefined;
  if (why)
    throw new Error(`a plugin vouched for ${JSON.stringify(id.slice(0, 64))}: ${why}; use an id like device:<id>`);
}
