/** Mints principals, and knows which of them still count: the only place where authority comes into being. */
import { isDeepStrictEqual } from "node:util";
import { coversScope, type Principal, type Role, SCOPES } from "@svc/sdk";
import { type Ended, nothingEnded } from "./ended.ts";
import type { AuthSettings } from "./settings.ts";

type Provenance = Principal["provenance"];

/** Choice: ends that are remembered one by one. Beyond that, all that came in before the oldest is dead. */
const MAX_REVOKED = 10_000;

/** The credentials that a change of the settings ends, all at once. */
export const SHARED_PROVENANCES: readonly Provenance[] = Object.freeze(["token", "password", "none", "trusted-proxy"]);

const PROXY_PREFIX = "trusted-proxy:";
const PLUGIN_PREFIX = "plugin:";
const WEBHOOK_PREFIX = "webhook:";
/** Of a device among what was revoked; no id of a principal begins so. */
const DEVICE_PREFIX = "\u0000device:";
/** Choice: what it sets off came from outside, so it gets less than whoever configured it. */
const WEBHOOK_SCOPES: readonly string[] = Object.freeze(["operator.read", "operator.write"]);

/** Names clients use for a scope beside its own. Spec: spec/README.md "admin scope". */
const SCOPE_ALIASES: ReadonlyMap<string, string> = new Map([["admin", "operator.admin"]]);

/** The scopes a connection asks for, aliases resolved, each once. */
export function requestedScopes(scopes: readonly string[] = []): string[] {
  return [...new Set(scopes.map((scope) => SCOPE_ALIASES.get(scope) ?? scope))];
}

/** Which of `wanted` are among `held` or covered by them. Nodes hold what is named, nothing else. Spec: frames-and-connect.md §7. */
function within(held: readonly string[], wanted: readonly string[], role: Role): string[] {
  const covered = role === "node" ? [] : SCOPES.filter((scope) => coversScope(held, scope));
  return wanted.filter((scope) => held.includes(scope) || covered.some((known) => known === scope));
}

/** The same principal with those of `scopes` that it holds or covers; identity and epoch stay, so it dies with its source. */
export function narrow(principal: Principal, scopes: readonly string[]): Principal {
  return mint({ ...principal, scopes: within(principal.scopes, scopes, principal.role) });
}

/** What a plugin acts as: exactly the scopes its package asks for. Never dies; the kernel ends a plugin otherwise. */
export function pluginPrincipal(id: string, scopes: readonly string[]): Principal {
  return mint({ id: PLUGIN_PREFIX + id, role: "operator", scopes, provenance: "plugin", epoch: 0 });
}

/** Every principal of this process; nothing that only looks like one is among them. */
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
 * Whom a plugin's call is made for. A principal that was minted here stands as it is; any other object, from storage or
 * made up, may do no more than the plugin itself.
 * @param own what the plugin acts as
 */
export function actingFor(asked: Principal, own: Principal): Principal {
  if (minted.has(asked)) return asked;
  return mint({ ...asked, scopes: within(own.scopes, asked.scopes, own.role) });
}

/** What else was true when a credential was verified. */
interface Circumstances {
  /** Epoch in which it was looked at. Default: now. */
  readonly since?: number;
  /** Id of the device that was proven. */
  readonly device?: string | undefined;
  /** The gateway's own credential was what let it in; it ends with that. */
  readonly onShared?: boolean;
}

function proven(device: string | undefined): { readonly device?: string } {
  return device === undefined ? {} : { device };
}

export class Authority {
  #settings: AuthSettings;
  /** Grows with every change of a credential. Never falls; a principal carries the one its credential was verified in. */
  #epoch: number;
  /** Shared credentials verified in an earlier epoch are dead. */
  #sharedSince: number;
  /** What ended before is not known: all of an earlier epoch are dead, but for plugins. */
  #unknownBefore: number;
  /** By principal id, in the order they ended: the epoch whose credentials, and all before, are dead. */
  readonly #revoked: Map<string, number>;

  /** @param ended what ended before this start */
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
   * Now. Whoever waits between looking at a credential and minting takes it before the look and passes it as `since`:
   * a principal whose credential was changed or revoked meanwhile is dead from the start.
   */
  get epoch(): number {
    return this.#epoch;
  }

  /** What ended so far, to be kept over restarts. */
  get ended(): Ended {
    return {
      epoch: this.#epoch,
      sharedSince: this.#sharedSince,
      unknownBefore: this.#unknownBefore,
      revoked: Object.fromEntries(this.#revoked),
    };
  }

  /**
   * Takes new settings over; with any change all principals of shared credentials are dead.
   * @returns the provenances that ended, to close their connections; empty when nothing changed
   */
  replace(settings: AuthSettings): readonly Provenance[] {
    if (isDeepStrictEqual(settings, this.#settings)) return [];
    this.#settings = settings;
    this.#epoch += 1;
    this.#sharedSince = this.#epoch;
    return SHARED_PROVENANCES;
  }

  /** All principals with this id are dead; those minted from now on are live. Plugins cannot be revoked. */
  revoke(principalId: string): void {
    this.#revoked.delete(principalId);
    this.#revoked.set(principalId, this.#epoch);
    this.#epoch += 1;
    const [oldest] = this.#revoked;
    if (this.#revoked.size <= MAX_REVOKED || !oldest) return;
    this.#revoked.delete(oldest[0]);
    this.#unknownBefore = oldest[1] + 1;
  }

  /** The same for all that proved this device. */
  revokeDevice(deviceId: string): void {
    this.revoke(DEVICE_PREFIX + deviceId);
  }

  /**
   * Whether the credential behind a principal still counts, of one that was kept on disk as well. Runs on every call: it
   * allocates nothing. What acts for a webhook ends as a device does: by its id.
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

  /** Who holds the gateway's shared secret, or needs none: all that was asked for is granted. */
  sharedPrincipal(
    role: Role,
    scopes: readonly string[],
    { since = this.#epoch, device }: Circumstances = {},
  ): Principal {
    const { mode } = this.#settings;
    if (mode === "trusted-proxy") throw new Error("mode trusted-proxy knows users: mint with proxyPrincipal");
    return mint({ id: mode, role, scopes, provenance: mode, epoch: since, ...proven(device) });
  }

  /** Whom a trusted proxy named: all that was asked for is granted. */
  proxyPrincipal(
    user: string,
    role: Role,
    scopes: readonly string[],
    { since = this.#epoch, device }: Circumstances = {},
  ): Principal {
    const id = PROXY_PREFIX + user;
    return mint({ id, role, scopes, provenance: "trusted-proxy", epoch: since, ...proven(device) });
  }

  /** Who can read the gateway's state directory: all that was asked for is granted. Dies with the process only. */
  localPrincipal(scopes: readonly string[], { since = this.#epoch, device }: Circumstances = {}): Principal {
    return mint({ id: "local", role: "operator", scopes, provenance: "local", epoch: since, ...proven(device) });
  }

  /** Who a plugin vouched for: never more than was asked for. @throws Error the plugin gave an id that is somebody else's */
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

  /** What acts for a webhook: it may read and write as an operator does, and neither approve, pair nor administer. */
  webhookPrincipal(mapping: string): Principal {
    const id = WEBHOOK_PREFIX + mapping;
    return mint({ id, role: "operator", scopes: WEBHOOK_SCOPES, provenance: "webhook", epoch: this.#epoch });
  }
}

/** Prefixes and names that other provenances use. */
const RESERVED = /^(token|password|none|local|trusted-proxy|trusted-proxy:.*|plugin:.*|webhook:.*)$/is;

function checkVouchedId(id: string): void {
  const why =
    id.trim() === "" || id !== id.trim()
      ? "it is blank or has blanks around it"
      : id.length > 256 || /\p{C}/u.test(id)
        ? "it is too long or has characters that cannot be seen"
        : RESERVED.test(id)
          ? "that id belongs to another kind of credential"
          : undefined;
  if (why)
    throw new Error(`a plugin vouched for ${JSON.stringify(id.slice(0, 64))}: ${why}; use an id like device:<id>`);
}
