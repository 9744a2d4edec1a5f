/** Replies and messages that are not in the history yet. */
import type { Picture } from "./pictures.ts";

export interface LiveTool {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
  readonly state: "running" | "done" | "failed";
  /** What it says while it runs. */
  readonly partial: string;
}

/** A reply in progress. */
export interface LiveRun {
  readonly runId: string;
  /** epoch ms */
  startedAt: number;
  /** Waits for its turn. */
  isWaiting: boolean;
  /** Text of all its answers. */
  text: string;
  thinking: string;
  readonly tools: Map<string, LiveTool>;
  /** What happened to the run, e.g. another model answers. */
  notices: readonly Notice[];
  isCompacting: boolean;
}

export type Notice =
  | { readonly kind: "fallback"; readonly from: string; readonly to: string; readonly reason: string }
  | { readonly kind: "stopped" };

/** A message that is not in the history yet. */
export interface Outgoing {
  readonly runId: string;
  readonly text: string;
  readonly pictures: readonly Picture[];
  readonly replaces: string | undefined;
  /** held: by this page, because there is no connection; queued: by the gateway, because it is busy */
  state: "held" | "sending" | "queued" | "started" | "failed";
  error?: unknown;
}
