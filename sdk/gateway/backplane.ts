/** Events and notes of several gateways that use one state, in one order: what the host and the plugin that carries them owe each other. */
import { defineService } from "../service.ts";

/** An event or a note, as its gateway sends it to all gateways. */
export interface SharedText {
  readonly text: string;
  /** It takes the next number that all clients see (`seq`). */
  readonly isNumbered: boolean;
}

/** An event with its place in the common order. */
export interface SharedEvent {
  /** Greater than that of the event before. */
  readonly n: number;
  readonly seq: number | undefined;
  readonly text: string;
  /** This gateway has sent it. */
  readonly isOwn: boolean;
}

/** A place in the common order, and the latest events up to it. */
export interface SharedPlace {
  /** Changes when events may have been lost; then numbers continue far above those of the former epoch. */
  readonly epoch: string;
  readonly n: number;
  /** Oldest first, without a gap. */
  readonly history: readonly SharedEvent[];
}

/** Carries events between gateways. */
export interface Carrier {
  /** Never throws. Every text comes back once, in the order of the calls, through `deliver` or `unsent`. */
  send(text: SharedText): void;
}

/** What the carrier reports to its gateway. */
export interface BackplaneEnd {
  /** Next events of all gateways. */
  deliver(events: readonly SharedEvent[]): void;
  /** The oldest texts that have not come back reach the clients of this gateway only. */
  unsent(count: number): void;
  /** Events may have been lost: clients are told at their next event. */
  renew(place: SharedPlace): void;
  /** This gateway has missed events of others: its clients connect again. */
  missed(place: SharedPlace): void;
  /**
   * Who is there. @param self name of this gateway among them, as at the beginning of the ids of owners; `undefined`: it is none of them now
   */
  members(self: string | undefined, present: ReadonlySet<string>): void;
  /** From now on, events reach the clients of this gateway only. */
  leave(): void;
}

/** The host's part. */
export interface Backplane {
  /** Number of the last event of this gateway before it joined. */
  readonly seq: number;
  /** From now on, events go through the carrier. */
  join(carrier: Carrier, place: SharedPlace): BackplaneEnd;
}

/** Token of the service. */
export const Backplane = defineService<Backplane>()("gateway.backplane", "1.0.0", {
  summary:
    "Sends events to the clients of all gateways on one state. Provided by the host; used by a storage plugin that several gateways share.",
});
