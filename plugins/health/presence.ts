/**
 * The list of connected clients. Pure, given a clock. Spec: protocol/events.md §7.
 *
 * Choice: an entry expires 5 minutes after its last connection closed, not 5 minutes after it was opened, because a silent
 * client is still connected. It gets the reason `disconnect` only when its last connection closes.
 */
import type { ConnectionInfo, Static } from "@svc/sdk";
import type { PresenceEntry } from "@svc/sdk/health";

export type Presence = Static<typeof PresenceEntry>;

/** Milliseconds for which an entry stays after its last connection closed. */
export const PRESENCE_TTL_MS = 300_000;
/** Maximum number of entries, including the entry of the gateway itself; the oldest entries are dropped. */
export const MAX_ENTRIES = 200;

/** Facts about the gateway itself. */
export interface SelfFacts {
  readonly host: string;
  readonly ip?: string;
  readonly version: string;
  readonly platform: string;
  readonly deviceFamily?: string;
}

export interface PresenceList {
  /** Tells other gateways about this one. */
  begin(): void;
  /** Adds an accepted connection. @returns whether its client is tracked */
  connected(connection: ConnectionInfo): boolean;
  /** Replaces the sessions that a connection shows. @returns whether the list changed */
  watches(connection: ConnectionInfo, sessionKeys: readonly string[]): boolean;
  /** Removes a closed connection. @returns whether it belonged to a tracked client */
  disconnected(connection: ConnectionInfo): boolean;
  /** Stores what a client reports about itself; `key` is case-insensitive. @returns the former entry */
  reported(key: string, fields: Omit<Presence, "ts">): Presence | undefined;
  /** Newest first, the gateway itself included. */
  list(): Presence[];
}

interface Tracked {
  entry: Presence;
  /** Keys of the sessions that each connection shows, by its id. */
  readonly connections: Map<string, readonly string[]>;
}

/** An entry, as gateways on the same state tell each other. */
export interface SharedEntry {
  readonly key: string;
  readonly entry: Presence;
  /** Its last connection has not closed. */
  readonly isConnected: boolean;
}

export interface PresenceOptions {
  /** Called once, at the first use. */
  readonly self: () => SelfFacts;
  /** epoch ms */
  readonly clock: { now(): number };
  /** Tells other gateways about an entry of this one; `undefined`: it is gone. */
  readonly share: (key: string, shared: Omit<SharedEntry, "key"> | undefined) => void;
  /** Entries of other gateways. */
  readonly others: () => readonly SharedEntry[];
}

/** Key of the entry of the gateway itself. */
const SELF = "self";

export function createPresence({ self, clock, share, others }: PresenceOptions): PresenceList {
  let known: Omit<Presence, "ts"> | undefined;
  /** The entries by key, sorted by their field `ts`, oldest first. */
  const tracked = new Map<string, Tracked>();

  /** Moves the entry to the end, so that the map stays in order. */
  function upsert(key: string, fields: Omit<Presence, "ts">): Tracked {
    const known = tracked.get(key);
    const entry = merged(known?.entry, { ...fields, ts: clock.now() });
    const item = { entry, connections: known?.connections ?? new Map<string, readonly string[]>() };
    tracked.delete(key);
    tracked.set(key, item);
    return item;
  }

  const itself = () => (known ??= withText({ ...self(), mode: "gateway", reason: "self" }));
  const tell = (key: string, { entry, connections }: Tracked) =>
    share(key, { entry, isConnected: connections.size > 0 });

  function prune(): void {
    const oldest = clock.now() - PRESENCE_TTL_MS;
    for (const [key, { entry, connections }] of tracked) {
      const expired = connections.size === 0 && entry.ts < oldest;
      if (!expired && tracked.size < MAX_ENTRIES) continue;
      tracked.delete(key);
      share(key, undefined);
    }
  }

  /** @returns whether the sessions of the client changed */
  function updateWatched(item: Tracked): boolean {
    const { watchedSessions: before, ...entry } = item.entry;
    const all = [...new Set([...item.connections.values()].flat())];
    item.entry = all.length === 0 ? entry : { ...entry, watchedSessions: all };
    return all.join("\n") !== (before ?? []).join("\n");
  }

  return {
    connected(connection) {
      if (!isTracked(connection)) return false;
      const key = keyOf(connection);
      const item = upsert(key, entryOf(connection));
      item.connections.set(connection.id, []);
      tell(key, item);
      prune();
      return true;
    },
    watches(connection, sessionKeys) {
      const key = keyOf(connection);
      const item = tracked.get(key);
      if (!item?.connections.has(connection.id)) return false;
      item.connections.set(connection.id, sessionKeys);
      const isChanged = updateWatched(item);
      if (isChanged) tell(key, item);
      return isChanged;
    },
    disconnected(connection) {
      const key = keyOf(connection);
      const item = tracked.get(key);
      if (!item?.connections.delete(connection.id)) return false;
      const isChanged = updateWatched(item);
      if (item.connections.size === 0) tell(key, upsert(key, withText({ ...item.entry, reason: "disconnect" })));
      else if (isChanged) tell(key, item);
      prune();
      return true;
    },
    reported(key, fields) {
      prune();
      const known = tracked.get(key.toLowerCase())?.entry;
      tell(key.toLowerCase(), upsert(key.toLowerCase(), fields));
      return known;
    },
    begin: () => share(SELF, { entry: { ...itself(), ts: clock.now() }, isConnected: true }),
    list() {
      const now = clock.now();
      const own = itself();
      const here = [...tracked].map(([key, { entry, connections }]) => ({
        key,
        entry,
        isConnected: connections.size > 0,
      }));
      const elsewhere = others().filter(({ key }) => !tracked.has(key));
      const live = [...here, ...elsewhere].filter(
        ({ entry, isConnected }) => isConnected || entry.ts >= now - PRESENCE_TTL_MS,
      );
      const newestFirst = live
        .map(({ entry }) => entry)
        .toReversed()
        .toSorted((one, other) => other.ts - one.ts);
      return [{ ...own, ts: now }, ...newestFirst].slice(0, MAX_ENTRIES);
    },
  };
}

/** Choice: a connection without a principal was never accepted. Spec: clients with mode `cli` are not tracked. */
function isTracked({ client, principal }: ConnectionInfo): boolean {
  return client !== undefined && principal !== undefined && client.mode !== "cli";
}

function keyOf({ id, client, device }: ConnectionInfo): string {
  return (device ?? client?.instanceId ?? id).toLowerCase();
}

function entryOf({ client, device, principal, remoteAddress, local }: ConnectionInfo): Omit<Presence, "ts"> {
  return withText({
    ...present("host", client?.displayName ?? client?.id),
    ...present("ip", local ? undefined : remoteAddress), // the loopback address of a local client has no meaning
    ...present("version", client?.version),
    ...present("platform", client?.platform),
    ...present("deviceFamily", client?.deviceFamily),
    ...present("modelIdentifier", client?.modelIdentifier),
    ...present("mode", client?.mode),
    ...present("deviceId", device),
    ...present("instanceId", client?.instanceId ?? device),
    reason: "connect",
    roles: principal ? [principal.role] : [],
    scopes: [...(principal?.scopes ?? [])],
  });
}

/** The field, unless its value is empty: clients reject empty strings. */
function present<K extends keyof Presence>(field: K, value: string | undefined): { [P in K]?: string } {
  return value ? ({ [field]: value } as { [P in K]?: string }) : {}; // a computed key widens to string
}

/** Adds the one-line summary of events.md §7, in the form of methods-health.md §4. */
function withText<E extends Omit<Presence, "ts">>(entry: E): E & { text: string } {
  const { host, ip, version, mode, reason } = entry;
  const who = `${mode === "gateway" ? "Gateway" : "Node"}: ${host ?? "unknown"}${ip ? ` (${ip})` : ""}`;
  const parts = [who, version && `app ${version}`, mode && `mode ${mode}`, reason && `reason ${reason}`];
  return { ...entry, text: parts.filter(Boolean).join(" · ") };
}

/** Fields that the new entry lacks keep their old values; roles and scopes are unions. */
function merged(old: Presence | undefined, fresh: Presence): Presence {
  return {
    ...old,
    ...fresh,
    roles: union(old?.roles, fresh.roles),
    scopes: union(old?.scopes, fresh.scopes),
  };
}

function union(a: readonly string[] = [], b: readonly string[] = []): string[] {
  return [...new Set([...a, ...b])];
}
