/**
 * Provides `Ownership` for a storage plugin. Tables `svc_gateways`: gateways that have joined, and the end of their leases; `svc_owned`: resources that are
 * no rows, and their owners. Only the database's time counts, apart from the monotonic clock that ends a lease here before it ends there.
 */
import { randomUUID } from "node:crypto";
import { type Clock, type Logger, messageOf, notReady } from "@svc/sdk";
import type { Signals } from "./keeper.ts";
import {
  type Condition,
  type Lease,
  type Owner,
  type Ownership,
  type Retention,
  sqlFor,
  type Storage,
} from "@svc/sdk/storage";

/** Choice: milliseconds. A gateway that was not able to renew its lease stops acting `MARGIN_MS` before the lease ends. */
export const LEASE_MS = 10_000;
export const RENEW_MS = 3_000;
const MARGIN_MS = 2_000;
const REJOIN_MS = 1_000;
/** Choice: rows of gateways that ended without leaving are deleted after a day. */
const FORGET_MS = 86_400_000;
const ID_LENGTH = 36;
/** Message after which a gateway may have come or left, and rows or resources may be free. */
const EVERYONE = "*";

const NOW = sqlFor(({ name }) =>
  name === "sqlite"
    ? "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"
    : "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)",
);
const withNow = (write: (now: string) => string) => sqlFor(({ name }) => write(NOW[name]));

/** Owner of the migration steps. */
const STEPS_OWNER = "ownership";
const STEPS = [
  "CREATE TABLE svc_gateways (id TEXT PRIMARY KEY, name TEXT NOT NULL, joined_at BIGINT NOT NULL, expires_at BIGINT NOT NULL)",
  "CREATE TABLE svc_owned (resource TEXT PRIMARY KEY, owner TEXT NOT NULL)",
  withNow(
    (now) =>
      `CREATE VIEW svc_members AS SELECT id, expires_at - ${now} AS left_ms FROM svc_gateways WHERE expires_at > ${now}`,
  ),
];

const JOIN = withNow(
  (now) => `INSERT INTO svc_gateways (id, name, joined_at, expires_at) VALUES (?, ?, ${now}, ${now} + ${LEASE_MS})
    RETURNING joined_at AS now`,
);
const FORGET = withNow((now) => `DELETE FROM svc_gateways WHERE expires_at < ${now} - ${FORGET_MS}`);
const GATEWAY_OF = (column: string) => `substr(${column}, 1, ${ID_LENGTH})`;
/** A free resource needs no row. */
const FREE_RESOURCES = `DELETE FROM svc_owned
  WHERE NOT EXISTS (SELECT 1 FROM svc_members WHERE svc_members.id = ${GATEWAY_OF("svc_owned.owner")})`;
/** A lease that has ended cannot be renewed: others may own what it covered. */
const RENEW = withNow(
  (now) => `UPDATE svc_gateways SET expires_at = ${now} + ${LEASE_MS} WHERE id = ? AND expires_at > ${now}
    RETURNING expires_at - ${LEASE_MS} AS now`,
);

const MEMBERS = withNow(
  (now) => `SELECT id, name, joined_at, expires_at - ${now} AS left_ms FROM svc_gateways ORDER BY joined_at, id`,
);

export const MEMBERS_RETENTION: Retention = {
  tables: ["svc_gateways", "svc_owned"],
  holds: "gateways that use this state and the ends of their leases; which of them owns what",
  rule: "a gateway: until it ends, or 1 day after its lease ended; what is owned: until its owner gives it up or has ended",
};

export interface OwnershipSources {
  readonly storage: Storage;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "info" | "warn">;
  /** Name of this gateway, for people. */
  readonly name: string;
  /**
   * Present for a database that one gateway uses at a time: whether it is this one. Nobody else has a lease then, and none is needed.
   */
  readonly isAlone?: () => Promise<boolean>;
  /** Default: what was given to another gateway is noticed at its next sweep. */
  readonly signals?: Signals;
  /** Called with the name of this gateway, if it has a lease, and with those of all that have one. Default: nobody wants to know. */
  readonly members?: (self: string | undefined, present: ReadonlySet<string>) => void;
  /** As `storage.transaction`, ahead of what waits, so that a lease does not end because many writes wait. Default: the same. */
  readonly urgent?: Storage["transaction"];
}

export interface OwnershipParts {
  readonly ownership: Ownership;
  /** Creates the tables and joins. @throws errors of the storage */
  join(): Promise<void>;
  /** Ends the lease: what this gateway owns is free at once. Never rejects. Safe to call twice. */
  leave(): Promise<void>;
}

/** One lease of this gateway. */
interface Membership {
  readonly id: string;
  readonly over: AbortController;
  /** When it ends here. Monotonic ms; `Infinity`: without a lease. */
  until: number;
}

export function createOwnership(sources: OwnershipSources): OwnershipParts {
  const { storage, clock, log, name, isAlone, signals } = sources;
  const urgent: Storage["transaction"] = (statements) => (sources.urgent ?? storage.transaction)(statements);
  const listeners = new Set<() => void>();
  let membership: Membership | undefined;
  /** Time of the database minus that of this machine. */
  let aheadMs = 0;
  let owners = 0;
  let losses = 0;
  let lastLoss: Lease["lastLoss"];
  /** Gateways that have a lease, this one among them. */
  let present: ReadonlySet<string> = new Set();
  let isLeaving = false;
  let stopListening: () => Promise<void> = async () => undefined;
  const timers = new Map<"renew" | "end" | "look", NodeJS.Timeout>();

  // Real time: a lease also ends while the clock of a test stands still.
  function later(what: "renew" | "end" | "look", ms: number, work: () => void): void {
    clearTimeout(timers.get(what));
    if (!isLeaving) timers.set(what, setTimeout(work, Math.max(0, ms)).unref());
  }

  async function join(): Promise<void> {
    await storage.migrate(STEPS_OWNER, STEPS);
    if (isAlone) membership = { id: randomUUID(), over: new AbortController(), until: Number.POSITIVE_INFINITY };
    else await enter();
    const heard = (gateway: string) => {
      if (gateway === EVERYONE) void look(true); // one has come or left
      if (gateway === membership?.id || gateway === EVERYONE) tell();
    };
    if (signals) stopListening = await signals.listen(heard, tell);
    ownership.freed();
  }

  function tell(): void {
    for (const listener of listeners) listener();
  }

  async function enter(): Promise<void> {
    const id = randomUUID();
    const sentAt = performance.now();
    const results = await urgent([{ sql: JOIN, params: [id, name] }, { sql: FORGET }, { sql: FREE_RESOURCES }]);
    if (isLeaving) return; // meanwhile; the lease ends by itself
    membership = { id, over: new AbortController(), until: 0 };
    renewed(membership, sentAt, Number(results[0]?.rows[0]?.["now"]));
    await look();
  }

  function renewed(member: Membership, sentAt: number, now: number): void {
    aheadMs = now - clock.now();
    member.until = sentAt + LEASE_MS - MARGIN_MS;
    later("end", member.until - performance.now(), () => lose(member, "the database did not answer in time"));
    later("renew", RENEW_MS, () => void renew(member));
  }

  async function renew(member: Membership): Promise<void> {
    const sentAt = performance.now();
    try {
      const [result] = await urgent([{ sql: RENEW, params: [member.id] }]);
      if (membership !== member) return;
      const now = result?.rows[0]?.["now"];
      if (now === undefined) return lose(member, "it ended before it was renewed");
      renewed(member, sentAt, Number(now));
      await look();
    } catch (error) {
      if (membership !== member) return;
      log.warn({ err: error }, "the lease of this gateway could not be renewed; retrying");
      later("renew", REJOIN_MS, () => void renew(member));
    }
  }

  function lose(member: Membership, reason: string): void {
    if (membership !== member) return;
    membership = undefined;
    losses += 1;
    lastLoss = { at: clock.now(), reason };
    log.warn(
      { reason },
      "this gateway lost its lease: runs, jobs, channels and queues stop here until the database can be used again; other gateways may take them over",
    );
    sources.members?.(undefined, present);
    member.over.abort(new Error(`the lease of this gateway has ended: ${reason}`));
    rejoin();
  }

  function rejoin(): void {
    later("renew", REJOIN_MS, () => {
      enter().then(
        () => {
          log.info({}, "this gateway has a lease again");
          tell();
        },
        () => rejoin(), // the storage has logged why
      );
    });
  }

  /** Notices gateways that have left, or whose lease has ended. @param isTold the listeners know that rows may be free */
  async function look(isTold = false): Promise<void> {
    try {
      const rows = await storage.all<{ id: string; left_ms: number }>("SELECT id, left_ms FROM svc_members");
      const now = new Set(rows.map(({ id }) => id));
      const isFreed = [...present].some((id) => !now.has(id));
      present = now;
      sources.members?.(membership?.id, present);
      if (isFreed && !isTold) tell();
      // A lease that was not renewed for a while is looked at when it ends.
      const soonest = Math.min(...rows.map(({ left_ms: left }) => left));
      if (soonest < LEASE_MS - RENEW_MS - 1_000) later("look", soonest + 20, () => void look());
    } catch (error) {
      log.warn({ err: error }, "the leases of other gateways could not be read; retrying");
    }
  }

  async function holderOf(resource: string): Promise<string | undefined> {
    if (isAlone) return undefined;
    const sql = "SELECT owner FROM svc_owned WHERE resource = ?";
    return (await storage.get<{ owner: string }>(sql, [resource]))?.owner;
  }

  function ownerIn({ id: gateway, over }: Membership): Owner {
    const id = `${gateway}/${(owners += 1)}`;
    const free = (column: string): Condition => ({
      sql: `(${column} IS NULL OR (${column} <> ? AND (${GATEWAY_OF(column)} = ?
        OR NOT EXISTS (SELECT 1 FROM svc_members WHERE svc_members.id = ${GATEWAY_OF(column)}))))`,
      params: [id, gateway],
    });
    const put = async (resource: string, condition?: Condition) => {
      if (isAlone) return true;
      const [result] = await storage.transaction([
        {
          sql: `INSERT INTO svc_owned (resource, owner) VALUES (?, ?) ON CONFLICT (resource) DO UPDATE SET owner = excluded.owner
            ${condition ? `WHERE svc_owned.owner = excluded.owner OR ${condition.sql}` : ""}`,
          params: [resource, id, ...(condition?.params ?? [])],
        },
      ]);
      return result?.changes === 1;
    };
    return {
      id,
      signal: over.signal,
      get isCurrent() {
        return !over.signal.aborted && membership?.id === gateway && performance.now() < membership.until;
      },
      free,
      take: (resource) => put(resource, free("svc_owned.owner")),
      async seize(resource) {
        const former = await holderOf(resource);
        await put(resource);
        if (former !== undefined && former !== id) ownership.nudge(former);
      },
      async release(resource) {
        if (isAlone) return;
        await storage.transaction([
          { sql: "DELETE FROM svc_owned WHERE resource = ? AND owner = ?", params: [resource, id] },
        ]);
      },
      async nudge(resource) {
        const holder = await holderOf(resource).catch(() => undefined);
        if (holder !== undefined) ownership.nudge(holder);
      },
      async end() {
        if (isAlone) return;
        try {
          const sql = "DELETE FROM svc_owned WHERE owner = ?";
          const [freed] = await storage.transaction([{ sql, params: [id] }]);
          if (freed && freed.changes > 0) await signals?.send(EVERYONE);
        } catch {
          // They are free once this gateway ends, too.
        }
      },
      holds: (resource) =>
        isAlone
          ? { sql: "1 = 1", params: [] }
          : { sql: "EXISTS (SELECT 1 FROM svc_owned WHERE resource = ? AND owner = ?)", params: [resource, id] },
    };
  }

  function signal(whom: string): void {
    signals?.send(whom).catch((err: unknown) => log.warn({ err }, "another gateway could not be told"));
  }

  const ownership: Ownership = {
    get others() {
      const self = membership?.id;
      return self === undefined ? 0 : [...present].filter((id) => id !== self).length;
    },
    get lease() {
      const leftMs = isAlone ? undefined : Math.max(0, (membership?.until ?? 0) - performance.now());
      return { leftMs, losses, ...(lastLoss ? { lastLoss } : {}) };
    },
    async members() {
      if (isAlone) return [];
      const [rows, owned] = await Promise.all([
        storage.all<{ id: string; name: string; joined_at: number; left_ms: number }>(MEMBERS),
        storage.all<{ resource: string; owner: string }>("SELECT resource, owner FROM svc_owned ORDER BY resource"),
      ]);
      return rows.map(({ id, name: host, joined_at: joinedAt, left_ms: leftMs }) => {
        const its = owned.filter(({ owner }) => owner.startsWith(id)).map(({ resource }) => resource);
        return { id, name: host, joinedAt, leftMs, owned: its };
      });
    },
    get aheadMs() {
      return aheadMs;
    },
    async owner() {
      if (!membership) return notReady("this gateway has no lease, because the database cannot be used", REJOIN_MS);
      if (isAlone && !(await isAlone()))
        return notReady(
          `another gateway uses the database ${storage.location}; this one acts when that one has ended`,
          REJOIN_MS,
        );
      return ownerIn(membership);
    },
    changed(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    // At worst, the next sweep of the others finds the rows.
    nudge: (owner) => signal(owner.slice(0, ID_LENGTH)),
    freed: () => signal(EVERYONE),
  };

  return {
    ownership,
    join,
    async leave() {
      isLeaving = true;
      for (const timer of timers.values()) clearTimeout(timer);
      const left = membership;
      membership = undefined;
      left?.over.abort(new Error("the storage plugin stops"));
      await stopListening();
      if (!left || isAlone) return;
      try {
        await storage.transaction([{ sql: "DELETE FROM svc_gateways WHERE id = ?", params: [left.id] }]);
        await signals?.send(EVERYONE);
      } catch (error) {
        log.warn({ reason: messageOf(error) }, "the lease of this gateway ends by itself");
      }
    },
  };
}
