/** Shared memory and messages between the watchdog's thread and the main thread. */
import type { EventLoopBlock } from "@svc/sdk/gateway";

/** The mark of no plugin. */
export const NOBODY = 0;

/** Indexes in their own shared memory, which is separate from that of the marks. */
export const SHARED = { beat: 0, excused: 1, silent: 2, places: 3 } as const;

/** Start parameters of the thread. */
export interface WatchdogTask {
  readonly marks: SharedArrayBuffer;
  readonly shared: SharedArrayBuffer;
  /** File with the newest blocks. */
  readonly reportFile: string;
}

/** To the thread: the plugin of a mark; `null`: the mark was released. */
export type NamedMark = readonly [mark: number, plugin: string | null];

/** From the thread: a block has ended. */
export interface BlockOver extends EventLoopBlock {
  readonly mark: number;
}
