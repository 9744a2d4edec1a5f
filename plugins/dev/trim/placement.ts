/** Places packages in a new `node_modules` so that each import still resolves to the same package. Pure. */
import { type InstalledPackage, PackageProblem } from "./package-tree.ts";

/** A package and its place below `node_modules`, e.g. `ws` or `koa/node_modules/ms`. */
export interface Placed {
  readonly path: string;
  readonly from: InstalledPackage;
}

/**
 * Places a package at the top level if its name is free, otherwise below the package that needs it. All direct
 * dependencies of a package are placed before the dependencies of the packages below. So a later placement never
 * changes what an earlier import resolves to.
 * @param roots by name; always placed at the top level
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
  /** Packages in whose `node_modules` the package is nested, nearest first. */
  readonly above: readonly string[];
  /** The chain of packages that need each other, outermost first. */
  readonly within: readonly InstalledPackage[];
}

function knot(packages: readonly InstalledPackage[]): PackageProblem {
  const names = packages.map(({ name, version }) => `${name} ${version}`).join(" > ");
  return new PackageProblem(
    `these packages need each other in several versions: ${names}`,
    "npm dedupe, then try again",
  );
}
