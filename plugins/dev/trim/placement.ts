/** Where packages go in a `node_modules` of their own, so that each import still means the same package. Pure. */
import { type InstalledPackage, PackageProblem } from "./package-tree.ts";

/** A package and its place below `node_modules`, e.g. `ws` or `koa/node_modules/ms`. */
export interface Placed {
  readonly path: string;
  readonly from: InstalledPackage;
}

/**
 * At the top where the name is free, else below the package that needs it. A package's own places are all taken before
 * those of the packages below it are looked for: nothing that was placed before can come to mean something else.
 * @param roots by name; these are at the top in any case
 * @throws PackageProblem for packages that need each other in several versions, which only links could express
 */
export function placePackages(roots: ReadonlyMap<string, InstalledPackage>): Placed[] {
  const top = new Map(roots);
  const placed: Placed[] = [];
  const nested = new Map<string, ReadonlyMap<string, InstalledPackage>>();
  const queue: Place[] = [...top].map(([name, from]) => ({ path: name, from, above: [], within: [] }));
  for (let place = queue.shift(); place; place = queue.shift()) {
    const { path, from, above, within } = place;
    placed.push({ path, from });
    const own = new Map<string, InstalledPackage>();
    nested.set(path, own);
    const reach = [path, ...above];
    for (const [name, wanted] of from.dependencies) {
      const seen = reach.map((at) => nested.get(at)?.get(name)).find((one) => one !== undefined) ?? top.get(name);
      if (seen === wanted) continue;
      if (seen === undefined) {
        top.set(name, wanted);
        queue.push({ path: name, from: wanted, above: [], within: [] });
      } else {
        if (within.includes(wanted)) throw knot([...within, from, wanted]);
        own.set(name, wanted);
        queue.push({ path: `${path}/node_modules/${name}`, from: wanted, above: reach, within: [...within, from] });
      }
    }
  }
  return placed;
}

interface Place extends Placed {
  /** Packages in whose `node_modules` it lies, the nearest first. */
  readonly above: readonly string[];
  /** The packages there, the outermost first. */
  readonly within: readonly InstalledPackage[];
}

function knot(packages: readonly InstalledPackage[]): PackageProblem {
  const names = packages.map(({ name, version }) => `${name} ${version}`).join(" > ");
  return new PackageProblem(
    `these packages need each other in several versions: ${names}`,
    "npm dedupe, then try again",
  );
}
