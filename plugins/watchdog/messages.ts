/** What the watchdog's thread and the main thread share and send each other. */
import type { EventLoopBlock } from "@svc/sdk/gateway";

/** The mark of no plugin. */
export const NOBODY = 0;

/** Places in the memory they share beside the marks. */
export const SHARED = { beat: 0, excused: 1, silent: 2, places: 3 } as const;

/** What the thread is started with. */
export interface WatchdogTask {
  readonly marks: SharedArrayBuffer;
  readonly shared: SharedArrayBuffer;
  /** What it found, in a file: the newest blocks. */
  readonly reportFile: string;
}

/** To the thread: whose a number is; `null`: nobody's any more. */
export type NamedMark = readonly [mark: number, plugin: string | null];

/** From the thread: the loop was blocked and has come round again. */
export interface BlockOver extends EventLoopBlock {
  readonly mark: number;
}
