/** What a restart is to tell whom: kept over it, told by the gateway that comes up. Spec: protocol/stores.md §8. */
import { defineService } from "../service.ts";

/** One thing to tell. Without a session that can be told, the main session is. */
export interface RestartNote {
  /** `config-apply`, `config-patch`, `update` or `restart`. */
  readonly kind: string;
  /** `ok`, `error` or `skipped`. */
  readonly status: string;
  /** epoch ms */
  readonly ts: number;
  readonly sessionKey?: string;
  /** Nothing: it is kept for whoever reads the file, and nobody is told. */
  readonly message?: string | null;
  readonly doctorHint?: string | null;
  readonly stats?: unknown;
}

/** Keeps notes over the next restart. */
export interface RestartNotes {
  /** The file. */
  readonly path: string;
  /** Keeps it beside what is there; on disk when it resolves. @throws Error the file cannot be written */
  keep(note: RestartNote): Promise<void>;
}

/** Notes over a restart. Provided by the plugin that changes the configuration. */
export const RestartNotes = defineService<RestartNotes>()("restart.notes", "1.0.0");
