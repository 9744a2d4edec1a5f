/** References in the running configuration. Pure. */
import { isSecretRef, type SecretPlace, type SecretRef } from "@svc/sdk/secrets";
import { named } from "./batches.ts";
import type { SecretsConfig } from "./config.ts";
import type { Named } from "./outcome.ts";

/** A reference and its place in the configuration. */
export interface PlacedRef {
  /** Dotted, e.g. `models.providers.acme.apiKey`. */
  readonly path: string;
  readonly ref: Named;
  /** Whether a running plugin reads it. */
  readonly active: boolean;
}

/** Spec: list items appear by index, `accounts.0.apiKey`. */
export function pathText(path: SecretPlace["path"]): string {
  return path.join(".");
}

/** The reference at a place; `undefined` for plain text. */
export function refAt({ value }: Pick<SecretPlace, "value">): SecretRef | undefined {
  return isSecretRef(value) ? value : undefined;
}

export function placedRefs(places: readonly SecretPlace[], config: SecretsConfig): PlacedRef[] {
  return places.flatMap((place) => {
    const ref = refAt(place);
    return ref ? [{ path: pathText(place.path), ref: named(ref, config), active: place.active }] : [];
  });
}
