/** What became of looking a reference up. */
import type { SecretText } from "./secret-text.ts";

export interface Found {
  readonly state: "found";
  readonly text: SecretText;
  /** The last lookup failed for this reason; the text is that of an earlier one. */
  readonly stale?: string;
}

export interface Lost {
  /** `missing`: the source answered without it. `failed`: it could not answer. */
  readonly state: "missing" | "failed";
  /** One line for people; never a value, never the id. */
  readonly reason: string;
}

export type Outcome = Found | Lost;

/** A reference with its provider. Two with the same key mean the same secret. */
export interface Named {
  readonly key: string;
  readonly source: string;
  readonly provider: string;
  readonly id: string;
}
