/** The non-code files of a new package. Pure except for `releaseOf`, which locates this gateway. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { API_VERSION } from "@svc/sdk";
import { FACTS, type Kind } from "./kinds.ts";

/** Versions of the packages that a new package uses for its development. */
export interface Release {
  readonly sdk: string;
  /** Released together with the host. */
  readonly kit: string;
  readonly cli: string;
  readonly host: string;
  /** Version of this package. */
  readonly dev: string;
  readonly jiti: string;
}

/** Versions of the toolchain this release was tested with; a test keeps them in sync. */
export const TOOLCHAIN = { "@types/node": "20.19.43", "@types/ws": "8.18.1", typescript: "7.0.2" };

/** @param directory the new package @returns exact versions, or links if this gateway runs from a checkout */
export function releaseOf(directory: string): Release {
  const require = createRequire(import.meta.url);
  const placeOf = (name: string) => realpathSync(dirname(require.resolve(`${name}/package.json`)));
  const host = placeOf("@svc/host");
  const jiti = read(host).dependencies?.["jiti"] ?? "*";
  const isCheckout = existsSync(join(host, "../package.json")) && "workspaces" in read(join(host, ".."));
  const wanted = (place: string) => (isCheckout ? `file:${relative(directory, place)}` : read(place).version);
  const { version: kit } = read(host); // `@svc/kit` and the host are released with the same version
  return {
    sdk: wanted(placeOf("@svc/sdk")),
    kit: isCheckout ? wanted(join(placeOf("@svc/sdk"), "kit")) : kit,
    cli: wanted(placeOf("@svc/cli")),
    host: wanted(host),
    dev: wanted(placeOf("@svc/plugin-dev")),
    jiti,
  };
}

interface PackageJson {
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

function read(directory: string): PackageJson {
  return JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as PackageJson;
}

/** File texts by name. */
export function packageFiles(
  kind: Kind,
  name: string,
  { sdk, kit, cli, host, dev, jiti }: Release,
): Readonly<Record<string, string>> {
  const { description, svc, usesKit } = FACTS[kind];
  const range = `^${API_VERSION}`;
  const test = `node --import jiti/register --test test/${svc ? "plugin" : name}.test.ts`;
  const plugin = svc && {
    peerDependencies: { "@svc/sdk": range },
    svc: { id: name, api: range, entry: "./plugin.ts", ...svc({ name }) },
  };
  const manifest = {
    name: `svc-${svc ? "plugin" : "transform"}-${name}`,
    version: "0.1.0",
    ...(svc ? {} : { private: true }),
    description,
    license: "MIT",
    type: "module",
    files: ["*.ts"],
    scripts: {
      ...(svc ? { dev: "svc dev ." } : {}),
      test,
      types: "tsc --noEmit",
      ...(svc ? { check: "svc plugins check" } : {}),
    },
    ...(usesKit ? { dependencies: { "@svc/kit": kit } } : {}),
    ...(plugin ? { peerDependencies: plugin.peerDependencies } : {}),
    devDependencies: {
      "@svc/cli": cli,
      "@svc/host": host,
      "@svc/plugin-dev": dev,
      "@svc/sdk": sdk,
      ...TOOLCHAIN,
      jiti,
    },
    engines: { node: ">=20.19" },
    ...(plugin ? { svc: plugin.svc } : {}),
  };
  return {
    "package.json": `${JSON.stringify(manifest, null, 2)}\n`,
    "tsconfig.json": `${JSON.stringify(TSCONFIG, null, 2)}\n`,
    ".gitignore": "node_modules/\n",
  };
}

/** The compiler options, as strict as those of the gateway. */
const TSCONFIG = {
  compilerOptions: {
    target: "ES2023",
    lib: ["ES2023", "ESNext.Disposable"],
    module: "NodeNext",
    moduleResolution: "NodeNext",
    types: ["node"],
    noEmit: true,
    allowImportingTsExtensions: true,
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noImplicitOverride: true,
    noImplicitReturns: true,
    noFallthroughCasesInSwitch: true,
    noUnusedLocals: true,
    noUnusedParameters: true,
    verbatimModuleSyntax: true,
    isolatedModules: true,
    erasableSyntaxOnly: true,
    skipLibCheck: true,
  },
  include: ["*.ts", "test/*.ts"],
};
