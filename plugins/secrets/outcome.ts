/** Outcome of looking up a reference. */
import type { SecretText } from "./secret-text.ts";

export interface Found {
  readonly state: "found";
  readonly text: SecretText;
  /** Reason why the last lookup failed; `text` is then the value of an earlier lookup. */
  readonly stale?: string;
}

export interface Lost {
  /** `missing`: the source has no such secret. `failed`: the lookup failed. */
  readonly state: "missing" | "failed";
  /** One line for people, without the value and without the id. */
  readonly reason: string;
}

export type Outcome = Found | Lost;

/** A reference with its provider. References with the same key refer to the same secret. */
export interface Named {
  readonly key: string;
  readonly source: string;
  readonly provider: string;
  readonly id: string;
}
