/** Checks that package.json matches the code, and that declarations are complete, kind by kind. Pure. */
import { describeViolations, matches } from "@svc/sdk";
import { type AnyKind, covers, listed, type Shape, type Staged, unlisted } from "@svc/host";
import type { Manifest } from "@svc/host/local";
import { failed, type Problem, unless, warning } from "./findings.ts";

/** Checks that package.json lists all declarations, and that the code declares everything listed. */
export function manifestProblems(kinds: readonly AnyKind[], manifest: Manifest, staged: Staged): Problem[] {
  const { id } = staged.plugin;
  return [
    ...unless(
      manifest.id === id,
      failed(`the code has the id "${id}"`, `package.json has the id "${manifest.id}"; use the same id in both`),
    ),
    ...kinds.flatMap((kind) => {
      const shapes = shapesOf(kind, staged);
      const missing = shapes.flatMap((shape) => unlisted(kind, shape, id, manifest) ?? []);
      return [...missing, ...unused(kind, manifest, shapes)];
    }),
  ];
}

function unused({ listing, noun }: AnyKind, manifest: Manifest, shapes: readonly Shape[]): Problem[] {
  if (!listing || manifest[listing.key] === undefined) return [];
  return listing
    .read(manifest)
    .filter((value) => !shapes.some(({ name }) => covers(listing, value, name)))
    .map((value) =>
      warning(
        `svc.${listing.key} lists "${value}", but with this configuration no such ${noun} is declared`,
        "run svc plugins declare, which writes these lists",
      ),
    );
}

/** The lists that package.json must have according to the code; `undefined`: the list is empty. */
export function listsOf(
  kinds: readonly AnyKind[],
  manifest: Manifest,
  staged: Staged,
): Partial<Record<keyof Manifest, unknown>> {
  const lists: Partial<Record<keyof Manifest, unknown>> = {};
  for (const kind of kinds) {
    const list = listed(kind, shapesOf(kind, staged), staged.plugin.id, manifest);
    if (!list) continue;
    const [key, value] = list;
    const other = lists[key]; // from another kind with the same key
    lists[key] = other && value ? { ...other, ...value } : (value ?? other);
  }
  return lists;
}

/** Checks that each declaration has a summary, a scope and strict schemas. */
export function contractProblems(kinds: readonly AnyKind[], staged: Staged): Problem[] {
  return kinds.flatMap((kind) => [
    ...staged.declared.of(kind).flatMap((entry) => kind.problems?.(entry) ?? []),
    ...shapesOf(kind, staged).flatMap((shape) =>
      unless(
        matches(kind.shape, shape),
        failed(`${kind.noun} ${shape.name}: ${describeViolations(kind.shape, shape)}`, "correct the declaration"),
      ),
    ),
  ]);
}

/**
 * Finds declarations that prevent the plugin from running as worker or process although `svc.isolation.supports` lists
 * that. Services that cannot be reached from there are not detected here.
 */
export function placementProblems(
  kinds: readonly AnyKind[],
  { isolation }: Manifest,
  { declared }: Pick<Staged, "declared">,
): Problem[] {
  const apart = isolation?.supports.filter((placement) => placement !== "host") ?? [];
  if (apart.length === 0) return [];
  const next = `remove ${apart.join(" and ")} from svc.isolation.supports`;
  return [
    ...kinds.flatMap((kind) =>
      declared.of(kind).flatMap((entry) => {
        const why = kind.refuse?.(entry);
        return why === undefined
          ? []
          : [failed(`the plugin declares the ${kind.noun} ${kind.describe(entry).name}: ${why}`, next)];
      }),
    ),
    ...unless(
      isolation?.default === undefined || isolation.supports.includes(isolation.default),
      failed(
        `svc.isolation.default is ${isolation?.default}, which svc.isolation.supports does not list`,
        "correct svc.isolation",
      ),
    ),
  ];
}

function shapesOf(kind: AnyKind, staged: Staged): readonly Shape[] {
  return [...(kind.known?.(staged, staged.live) ?? []), ...staged.declared.shapes(kind)];
}
