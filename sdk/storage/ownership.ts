/**
 * The `Ownership` service: several gateways use one state, and each part of the state has one owner at a time. A gateway has a lease of
 * 10 s in the database, which it renews every 3 s. What it owns names it, and is free for others once its lease has ended.
 */
import { defineService } from "../service.ts";
import type { SqlValue } from "./service.ts";

/** Part of a WHERE clause, and its parameters. */
export interface Condition {
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

/** One generation of a plugin in one gateway, as the owner of rows and of resources. */
export interface Owner {
  /**
   * Unique; to be stored in a column of the rows that it owns. Each write of the owner has the condition `<column> = <id>`, so that it changes
   * nothing once another owner has taken the row.
   */
  readonly id: string;
  /** Aborts before another gateway may take what it owns: the plugin stops acting, and is restarted with a new owner. */
  readonly signal: AbortSignal;
  /** False from the end of the lease on, even if `signal` is late because the process was suspended. To be checked before an effect outside the database. */
  readonly isCurrent: boolean;
  /** Condition for the rows that it may take: they have no owner, their owner has ended, or it is an earlier generation of this plugin. */
  free(column: string): Condition;
  /**
   * Takes something that is no row, e.g. `channels/telegram/default`; each name begins with the id of the plugin. Succeeds if it is free, or if
   * it already belongs to this owner.
   */
  take(resource: string): Promise<boolean>;
  /** Takes it even if it is not free: its former owner changes nothing more about it, and is nudged. */
  seize(resource: string): Promise<void>;
  /** Makes it free, if it belongs to this owner. */
  release(resource: string): Promise<void>;
  /** Asks the gateway that owns a resource to look at what is stored about it. Best effort. */
  nudge(resource: string): Promise<void>;
  /** Makes all its resources free. Never rejects. */
  end(): Promise<void>;
  /** Condition of each write about a resource: it still belongs to this owner. */
  holds(resource: string): Condition;
}

/** A gateway that uses the state, as the database knows it. */
export interface Member {
  readonly id: string;
  /** Name of its machine. */
  readonly name: string;
  /** epoch ms of the database */
  readonly joinedAt: number;
  /** Milliseconds until its lease ends. Negative: it has ended without leaving. */
  readonly leftMs: number;
  /** Resources, as passed to `take`. */
  readonly owned: readonly string[];
}

/** The lease of this gateway. */
export interface Lease {
  /** Milliseconds for which this gateway acts without a renewal; 0: it has no lease; `undefined`: it needs none. */
  readonly leftMs: number | undefined;
  /** How often it was lost since the start. */
  readonly losses: number;
  readonly lastLoss?: { readonly at: number; readonly reason: string };
}

/** What a plugin asks, to share the work with other gateways on the state. */
export interface Ownership {
  /** Number of other gateways that have a lease. */
  readonly others: number;
  readonly lease: Lease;
  /** Gateways that use the state, or have ended within the last day without leaving; empty if only one can. @throws GatewayError `UNAVAILABLE` */
  members(): Promise<readonly Member[]>;
  /** Milliseconds by which the time of the database is ahead of that of this machine; 0 if only one gateway uses the database. */
  readonly aheadMs: number;
  /**
   * A new owner. To be called once by each generation of a plugin, in `start`; `ownerOf` of `@svc/kit/ownership` also restarts the plugin.
   * @throws SetupOutcome `not-ready` while the gateway has no lease
   */
  owner(): Promise<Owner>;
  /** Calls back when rows of other gateways may have become free, and after a `nudge` for this gateway. @returns ends it */
  changed(listener: () => void): () => void;
  /** Asks the gateway of an owner to look at its rows now, because one was given to it or changed. Best effort. @param owner id */
  nudge(owner: string): void;
  /** Asks all other gateways to look for rows that have become free. Best effort. */
  freed(): void;
}

/** Token of the service. */
export const Ownership = defineService<Ownership>()("ownership", "1.0.0", {
  summary:
    "Which gateway acts on a part of the state, when several use it. Provided by the storage plugin; used by plugins that run, send or schedule what is stored.",
});
