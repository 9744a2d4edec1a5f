/** Whether package.json and code say the same, and whether what a plugin declares is fit to be used: kind by kind. Pure. */
import { describeViolations, matches } from "@svc/sdk";
import { type AnyKind, covers, listed, type Shape, type Staged, unlisted } from "@svc/host";
import type { Manifest } from "@svc/host/local";
import { failed, type Problem, unless, warning } from "./findings.ts";

/** What is declared is listed, and what is listed is declared. */
export function manifestProblems(kinds: readonly AnyKind[], manifest: Manifest, staged: Staged): Problem[] {
  const { id } = staged.plugin;
  return [
    ...unless(
      manifest.id === id,
      failed(`code says id "${id}"`, `package.json says "${manifest.id}"; write one of them`),
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
        `svc.${listing.key} lists "${value}", and it declares no such ${noun} with this configuration`,
        "svc plugins declare, which writes these lists",
      ),
    );
}

/** The lists of package.json, as the code says; `undefined`: such a list has nothing in it. */
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
    const other = lists[key]; // of another kind with the same key
    lists[key] = other && value ? { ...other, ...value } : (value ?? other);
  }
  return lists;
}

/** What is declared has all that its users need: a summary, a scope, strict schemas. */
export function contractProblems(kinds: readonly AnyKind[], staged: Staged): Problem[] {
  return kinds.flatMap((kind) => [
    ...staged.declared.of(kind).flatMap((entry) => kind.problems?.(entry) ?? []),
    ...shapesOf(kind, staged).flatMap((shape) =>
      unless(
        matches(kind.shape, shape),
        failed(`${kind.noun} ${shape.name}: ${describeViolations(kind.shape, shape)}`, "correct what it declares"),
      ),
    ),
  ]);
}

/** What keeps it from running where its package says it can. A service that cannot be reached from there is not seen here. */
export function placementProblems(
  kinds: readonly AnyKind[],
  { isolation }: Manifest,
  { declared }: Pick<Staged, "declared">,
): Problem[] {
  const apart = isolation?.supports.filter((placement) => placement !== "host") ?? [];
  if (apart.length === 0) return [];
  const next = `take ${apart.join(" and ")} out of svc.isolation.supports`;
  return [
    ...kinds.flatMap((kind) =>
      declared.of(kind).flatMap((entry) => {
        const why = kind.refuse?.(entry);
        return why === undefined
          ? []
          : [failed(`it declares the ${kind.noun} ${kind.describe(entry).name}: ${why}`, next)];
      }),
    ),
    ...unless(
      isolation?.default === undefined || isolation.supports.includes(isolation.default),
      failed(`it prefers ${isolation?.default}, which it does not support`, "correct svc.isolation"),
    ),
  ];
}

function shapesOf(kind: AnyKind, staged: Staged): readonly Shape[] {
  return [...(kind.known?.(staged, staged.live) ?? []), ...staged.declared.shapes(kind)];
}
