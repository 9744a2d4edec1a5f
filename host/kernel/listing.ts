/** Compares the lists of package.json with a plugin's declarations, by kind. Pure. */
import type { AnyKind, Listing, Problem, Shape } from "./kind.ts";
import type { Manifest } from "./manifest.ts";

/** Whether package.json lists a declaration of this name. */
export function isListed({ listing }: AnyKind, manifest: Manifest | undefined, name: string): boolean {
  if (!listing || !manifest) return false;
  return listing.read(manifest).some((listed) => covers(listing, listed, name));
}

/** Whether a value listed in package.json covers a declaration of this name. */
export function covers(listing: Listing, listed: string, name: string): boolean {
  return listing.covers?.(listed, name) ?? listed === name;
}

/**
 * What package.json should list under `svc` for the shapes of a kind: the `key`, and its value, `undefined` if the key is to be omitted.
 * A value already listed that covers one of the shapes is kept: authors may list a narrower or a wider one.
 * @returns `undefined` for a kind without a listing
 */
export function listed(
  { listing }: AnyKind,
  shapes: readonly Shape[],
  id: string,
  manifest: Manifest,
): readonly [key: keyof Manifest, value: unknown] | undefined {
  if (!listing) return undefined;
  const { key, written = (values) => values } = listing;
  const wanted = shapes.flatMap((shape) => {
    const value = listing.value(shape, id);
    return value === undefined ? [] : [{ value, name: shape.name }];
  });
  const covering = (value: string) => wanted.some(({ name }) => covers(listing, value, name));
  const kept = manifest[key] === undefined ? [] : listing.read(manifest).filter(covering);
  const added = wanted.filter(({ name }) => !kept.some((value) => covers(listing, value, name)));
  const values = [...new Set([...kept, ...added.map(({ value }) => value)])];
  return [key, values.length === 0 ? undefined : written(values, id)];
}

/** The problem if package.json does not list a shape that must be listed, with what to add; or `undefined`. */
export function unlisted(kind: AnyKind, shape: Shape, id: string, manifest: Manifest | undefined): Problem | undefined {
  const { listing, noun } = kind;
  const value = listing?.value(shape, id);
  if (!listing || value === undefined || isListed(kind, manifest, shape.name)) return undefined;
  const why = `${noun} ${shape.name} is not listed under "svc.${listing.key}"`;
  const add = `add "${value}" to svc.${listing.key} in package.json`;
  const instead = listing.instead?.(id);
  return { level: "failed", why, next: instead === undefined ? add : `${instead}, or ${add}` };
}
