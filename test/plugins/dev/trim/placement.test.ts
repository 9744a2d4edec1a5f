/** Where packages go: every import has to mean what it meant before, whatever the tree looks like. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { type InstalledPackage, PackageProblem } from "../../../../plugins/dev/trim/package-tree.ts";
import { type Placed, placePackages } from "../../../../plugins/dev/trim/placement.ts";

/** A package of this name at this version; `needs` is filled by the test. */
function pkg(name: string, version = "1.0.0"): InstalledPackage {
  return { directory: `/from/${name}@${version}`, name, version, dependencies: new Map() };
}

function needs(from: InstalledPackage, ...others: readonly InstalledPackage[]): void {
  for (const other of others) from.dependencies.set(other.name, other);
}

function place(...roots: readonly InstalledPackage[]): Placed[] {
  return placePackages(new Map(roots.map((root) => [root.name, root])));
}

/** Skips trees that have no layout without links. */
function placedUnlessKnotted(roots: readonly InstalledPackage[]): Placed[] {
  try {
    return place(...roots);
  } catch (error) {
    fc.pre(!(error instanceof PackageProblem));
    throw error;
  }
}

/** What an import of `name` means in the package at `path`, as Node looks it up. */
function resolved(placed: readonly Placed[], path: string, name: string): InstalledPackage | undefined {
  const at = (where: string) => placed.find((one) => one.path === where)?.from;
  for (let folder = path; ;) {
    const found = at(`${folder}/node_modules/${name}`);
    if (found) return found;
    const above = folder.lastIndexOf("/node_modules/");
    if (above < 0) return at(name);
    folder = folder.slice(0, above);
  }
}

describe("placement of packages", () => {
  it("puts what nobody else wants another version of at the top", () => {
    const [a, b, c] = [pkg("a"), pkg("b"), pkg("c")];
    needs(a, b);
    needs(b, c);
    assert.deepEqual(
      place(a)
        .map(({ path }) => path)
        .sort(),
      ["a", "b", "c"],
    );
  });

  it("puts a second version below the package that needs it", () => {
    const [a, b, old, current] = [pkg("a"), pkg("b"), pkg("c", "1.0.0"), pkg("c", "2.0.0")];
    needs(a, current);
    needs(b, old);
    const paths = place(a, b).map(({ path, from }) => `${path} ${from.version}`);
    assert.deepEqual(paths.sort(), ["a 1.0.0", "b 1.0.0", "b/node_modules/c 1.0.0", "c 2.0.0"]);
  });

  it("takes a package under another name than its own", () => {
    const [a, real] = [pkg("a"), pkg("real")];
    a.dependencies.set("alias", real);
    assert.deepEqual(
      place(a).map(({ path, from }) => [path, from.name]),
      [
        ["a", "a"],
        ["alias", "real"],
      ],
    );
  });

  it("refuses packages that need each other in several versions, with their names", () => {
    const [a, b1, b2, c1, c2] = [pkg("a"), pkg("b", "1.0.0"), pkg("b", "2.0.0"), pkg("c", "1.0.0"), pkg("c", "2.0.0")];
    needs(a, b2);
    needs(b2, c2);
    needs(c2, b1);
    needs(b1, c1);
    needs(c1, b2);
    const top = [a, pkg("b", "3.0.0"), pkg("c", "3.0.0")];
    assert.throws(() => place(...top), {
      name: "PackageProblem",
      message: /^these packages need each other in several versions: a 1\.0\.0 > b 2\.0\.0 > .* > b 2\.0\.0\n/,
    });
  });

  it("keeps the meaning of every import in any other tree, cycles included", () => {
    const edges = fc.array(fc.tuple(fc.nat(11), fc.nat(11)), { maxLength: 40 });
    fc.assert(
      fc.property(edges, (pairs) => {
        // Twelve packages: four names at three versions each.
        const all = Array.from({ length: 12 }, (_, index) => pkg(`p${index % 4}`, `${Math.floor(index / 4)}.0.0`));
        for (const [from, to] of pairs) {
          const [one, other] = [all[from], all[to]];
          if (one && other && one !== other) needs(one, other);
        }
        const placed = placedUnlessKnotted(all.slice(0, 2));
        for (const { path, from } of placed)
          for (const [name, wanted] of from.dependencies) assert.equal(resolved(placed, path, name), wanted);
        assert.equal(new Set(placed.map(({ path }) => path)).size, placed.length);
      }),
      { numRuns: 300 },
    );
  });
});
