/** Lists the paths and plain values of the secrets in the configuration. Pure. */
import { isSecretRef, type SecretPlace, type SecretPlaces } from "@svc/sdk/secrets";
import type { ConfigFile } from "./file.ts";
import { HOST_SECTIONS } from "./host-schema.ts";
import { isObject } from "./plain-data.ts";
import { perOwners } from "./per-owners.ts";
import { type Hints, isSecretWhole, isSensitive } from "./redact.ts";
import { claimedAction, lookUp, sectionAt } from "./section-keys.ts";
import { composeSecretHintsOf, effectiveConfig, ownedSections, secretHintsOf, type SectionOwner } from "./sections.ts";

type Path = SecretPlace["path"];

interface PlacesContext {
  readonly hints: Hints;
  /** Patterns of secret keys, each split into parts. */
  readonly targets: readonly (readonly string[])[];
  /** Whether the host or a loaded plugin reads this section. */
  isRead(section: string): boolean;
  /** Sections of plugins. */
  readonly owned: ReadonlySet<string>;
}

/**
 * @param running returns the configuration in use and its section owners; called each time
 * @param found called with the values of resolved references
 */
export function createSecretPlaces(
  running: () => readonly [ConfigFile, readonly SectionOwner[]],
  found: SecretPlaces["found"] = () => undefined,
): SecretPlaces {
  const placesFor = perOwners(() => new WeakMap<ConfigFile, SecretPlace[]>());
  return {
    found,
    list() {
      const [file, owners] = running();
      const known = placesFor(owners);
      const places = known.get(file) ?? listPlaces(file, owners, secretHintsOf(owners));
      known.set(file, places);
      return places;
    },
    targets() {
      const [, owners] = running();
      return targetsOf(secretHintsOf(owners)).map((parts) => parts.join("."));
    },
  };
}

function listPlaces(file: ConfigFile, owners: readonly SectionOwner[], hints: Hints): SecretPlace[] {
  const owned = new Set(ownedSections(owners).map(({ section }) => section));
  const isRead = (section: string) => owned.has(section) || Object.hasOwn(HOST_SECTIONS, section);
  return placesIn(effectiveConfig(file, owners), [], { hints, targets: targetsOf(hints), isRead, owned });
}

/** Not the cache of `secretHintsOf`, which holds the hints of all sections. */
const writtenHintsOf = perOwners(composeSecretHintsOf);

/**
 * The secret values, for redaction: every text and number at a secret place, except references. Uses only the schemas of
 * sections present in the file: composing all schemas would add 20 ms to a start.
 */
export function secretTexts(file: ConfigFile, owners: readonly SectionOwner[]): string[] {
  if (Object.keys(file.resolved).length === 0) return [];
  const written = owners.filter(
    ({ section }) => lookUp(file.resolved, claimedAction(section) === undefined ? section : "hooks").found,
  );
  const leaves = (value: unknown): string[] => {
    if (typeof value !== "object" || value === null) return [String(value)];
    return isSecretRef(value) ? [] : Object.values(value).flatMap(leaves);
  };
  return listPlaces(file, written, writtenHintsOf(written)).flatMap(({ value }) => leaves(value));
}

/** Patterns of secret keys, `*` for any member. Keys below a secret, e.g. `id` of a reference, belong to it and are omitted. */
function targetsOf(hints: Hints): string[][] {
  const all = Object.entries(hints)
    .filter(([, hint]) => isObject(hint) && hint["sensitive"] === true)
    .map(([pattern]) => pattern.replaceAll("[]", ".*").split("."));
  const known = new Set(all.map((parts) => parts.join(".")));
  const isBelow = (parts: readonly string[]) =>
    parts.some((_, length) => length > 0 && known.has(parts.slice(0, length).join(".")));
  const top = all.filter((parts) => !isBelow(parts));
  return [...new Map(top.map((parts) => [parts.join("."), parts])).values()];
}

/** Secret texts, numbers, references and whole objects, in the order of the configuration. */
function placesIn(value: unknown, path: Path, ground: PlacesContext): SecretPlace[] {
  const spelled = path.map((part) => (typeof part === "number" ? "[]" : part)); // the form that redaction uses
  if (typeof value !== "object" || value === null) {
    const isSet = typeof value === "number" || (typeof value === "string" && value !== "");
    return isSet && isSensitive(spelled, ground.hints) ? [placeAt(path, value, ground)] : [];
  }
  if (Array.isArray(value)) return value.flatMap((item, index) => placesIn(item, [...path, index], ground));
  const isReference = isSecretRef(value) && isSensitive(spelled, ground.hints);
  if (isReference || isSecretWhole(spelled, ground.hints)) return [placeAt(path, value, ground)];
  return Object.entries(value).flatMap(([key, item]) => placesIn(item, [...path, key], ground));
}

function placeAt(path: Path, value: unknown, { targets, isRead, owned }: PlacesContext): SecretPlace {
  const parts = path.map(String);
  const known = targets.find((target) => fits(target, parts));
  // Without a schema, members of a map cannot be distinguished from keys.
  const target = known ?? path.map((part) => (typeof part === "number" ? "*" : part));
  return { path, target: target.join("."), value, active: isRead(sectionAt(parts, owned).join(".")) };
}

function fits(target: readonly string[], parts: readonly string[]): boolean {
  return target.length === parts.length && target.every((part, index) => part === "*" || part === parts[index]);
}
