/** Where the configuration holds secrets: in clear, for the plugin that answers admins about them. Pure. */
import { isSecretRef, type SecretPlace, type SecretPlaces } from "@svc/sdk/secrets";
import type { ConfigFile } from "./file.ts";
import { HOST_SECTIONS } from "./host-schema.ts";
import { isObject } from "./plain-data.ts";
import { perOwners } from "./per-owners.ts";
import { type Hints, isSecretWhole, isSensitive } from "./redact.ts";
import { claimedAction, lookUp, sectionAt } from "./section-keys.ts";
import { effectiveConfig, hintsOf, ownedSections, type SectionOwner } from "./sections.ts";

type Path = SecretPlace["path"];

/** What is looked at. */
interface PlacesContext {
  readonly hints: Hints;
  /** Each with its pattern as parts. */
  readonly targets: readonly (readonly string[])[];
  /** Whether somebody who is there reads this section. */
  isRead(section: string): boolean;
  /** Sections of plugins. */
  readonly owned: ReadonlySet<string>;
}

/**
 * @param running the configuration that is used and who owns its sections, asked at each call
 * @param found told what references stand for
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
      const places = known.get(file) ?? listPlaces(file, owners);
      known.set(file, places);
      return places;
    },
    targets() {
      const [, owners] = running();
      return targetsOf(hintsOf(owners)).map((parts) => parts.join("."));
    },
  };
}

function listPlaces(file: ConfigFile, owners: readonly SectionOwner[]): SecretPlace[] {
  const hints: Hints = hintsOf(owners);
  const owned = new Set(ownedSections(owners).map(({ section }) => section));
  const isRead = (section: string) => owned.has(section) || Object.hasOwn(HOST_SECTIONS, section);
  return placesIn(effectiveConfig(file, owners), [], { hints, targets: targetsOf(hints), isRead, owned });
}

/**
 * The secrets themselves, for whoever hides them: every text and number at such a place, but no reference to one. Only what is
 * written can be one, so the schemas of other sections are left alone: composing all of them would cost a start 20 ms.
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
  return listPlaces(file, written).flatMap(({ value }) => leaves(value));
}

/** Patterns of keys that are secrets, `*` for any member; what stands below one is part of it, as `id` of a reference. */
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

/** Texts, numbers, references and whole objects that are secrets, in the order of the configuration. */
function placesIn(value: unknown, path: Path, ground: PlacesContext): SecretPlace[] {
  const spelled = path.map((part) => (typeof part === "number" ? "[]" : part)); // as redaction has it
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
  // In a section without a schema the members of maps cannot be told from keys.
  const target = known ?? path.map((part) => (typeof part === "number" ? "*" : part));
  return { path, target: target.join("."), value, active: isRead(sectionAt(parts, owned).join(".")) };
}

function fits(target: readonly string[], parts: readonly string[]): boolean {
  return target.length === parts.length && target.every((part, index) => part === "*" || part === parts[index]);
}
