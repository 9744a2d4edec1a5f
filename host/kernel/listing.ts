/** The lists of package.json against what a plugin declares, kind by kind. Pure. */
import type { AnyKind, Listing, Problem, Shape } from "./kind.ts";
import type { Manifest } from "./manifest.ts";

/** Whether package.json says that the plugin declares this name. */
export function isListed({ listing }: AnyKind, manifest: Manifest | undefined, name: string): boolean {
  if (!listing || !manifest) return false;
  return listing.read(manifest).some((listed) => covers(listing, listed, name));
}

/** Whether a value listed in package.json stands for a declaration of this name. */
export function covers(listing: Listing, listed: string, name: string): boolean {
  return listing.covers?.(listed, name) ?? listed === name;
}

/**
 * What package.json says under `svc` of what a kind declares: its `key`, and `undefined` where it says nothing.
 * A listed value that stands for one of the shapes is kept: people may list a narrower or a wider one.
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

/** Why package.json does not fit a shape, and what to add to it, or `undefined`. */
export function unlisted(kind: AnyKind, shape: Shape, id: string, manifest: Manifest | undefined): Problem | undefined {
  const { listing, noun } = kind;
  const value = listing?.value(shape, id);
  if (!listing || value === undefined || isListed(kind, manifest, shape.name)) return undefined;
  const why = `${noun} ${shape.name} is not listed under "svc.${listing.key}"`;
  const add = `add "${value}" to svc.${listing.key} in package.json`;
  const instead = listing.instead?.(id);
  return { level: "failed", why, next: instead === undefined ? add : `${instead}, or ${add}` };
}
