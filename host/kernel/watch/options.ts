/** What the watchdog is started with, and what it tells. */
import type { Owner } from "../../hooks/owner.ts";
import type { RootLogger } from "../../log.ts";
import type { Blocked } from "./blocked.ts";

/** A block that is over, and whose it was. */
export interface Block extends Blocked {
  /** `undefined`: code of no plugin. */
  readonly owner: Owner | undefined;
}

export interface WatchdogOptions {
  readonly log: RootLogger;
  /** Where blocks are kept for those who come when the process is gone. */
  readonly reportFile: string;
  /** Called when the loop has come round again. */
  blocked(block: Block): void;
}
