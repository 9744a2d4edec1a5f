/** Notes that outlive a restart; the restarted gateway reports them. Spec: protocol/stores.md §8. */
import { defineService } from "../service.ts";

/** One note. Without a session that can receive it, the main session receives it. */
export interface RestartNote {
  /** `config-apply`, `config-patch`, `update` or `restart`. */
  readonly kind: string;
  /** `ok`, `error` or `skipped`. */
  readonly status: string;
  /** epoch ms */
  readonly ts: number;
  readonly sessionKey?: string;
  /** Absent or null: the note is only stored in the file; no session is notified. */
  readonly message?: string | null;
  readonly doctorHint?: string | null;
  readonly stats?: unknown;
}

/** Stores notes until the next restart. */
export interface RestartNotes {
  /** Path of the file. */
  readonly path: string;
  /** Adds a note to the stored ones; on disk when it resolves. @throws Error if the file cannot be written */
  keep(note: RestartNote): Promise<void>;
}

/** Token of the service. */
export const RestartNotes = defineService<RestartNotes>()("restart.notes", "1.0.0", {
  summary:
    "Stores notes for after a restart. Provided by the plugin that changes the configuration; used by every plugin that restarts the gateway.",
});
