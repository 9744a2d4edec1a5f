/** Prepares the transforms directory for use with an editor: types without an install. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { GatewayError, messageOf } from "@svc/sdk";

/**
 * The `tsconfig.json` for editors. Choice: it points to the types of this installation, so they are never outdated, and uses absolute
 * paths, so that links to the directory do not matter. Imports resolve as in the loader: with and without file extension.
 * Types of Node are included if the installation has them.
 */
function editorConfig(): string {
  const require = createRequire(import.meta.url);
  const sdk = dirname(require.resolve("@svc/sdk/package.json"));
  const from = (file: string) => join(sdk, "dist/types", file).replaceAll("\\", "/");
  const node = nodeTypes(require);
  const settings = {
    compilerOptions: {
      target: "es2022",
      module: "preserve",
      moduleResolution: "bundler",
      strict: true,
      noEmit: true,
      allowJs: true,
      allowImportingTsExtensions: true,
      skipLibCheck: true,
      ...(node === undefined ? { types: [] } : { types: ["node"], typeRoots: [node] }),
      paths: {
        "@svc/sdk/transform": [from("transform.d.ts")],
        "@svc/sdk": [from("index.d.ts")],
        "@svc/sdk/webhooks": [from("webhooks/index.d.ts")],
        "@svc/sdk/external-content": [from("external-content/index.d.ts")],
        "@svc/sdk/errors": [from("errors.d.ts")],
      },
    },
    include: ["**/*"],
  };
  return `${JSON.stringify(settings, null, 2)}\n`;
}

/** Directory that contains the types of Node, or `undefined`. */
function nodeTypes(require: NodeJS.Require): string | undefined {
  try {
    return dirname(dirname(require.resolve("@types/node/package.json"))).replaceAll("\\", "/");
  } catch {
    return undefined; // not part of an installation
  }
}

/** Compiler options that differ between installations. */
const PLACES = ["paths", "types", "typeRoots"] as const;

/** Whether the gateway wrote the file; it may point to another installation. */
function isOurs(present: string, text: string): boolean {
  try {
    return withoutPlaces(present) === withoutPlaces(text);
  } catch {
    return false; // comments, or not JSON at all: written by the user
  }
}

function withoutPlaces(text: string): string {
  const { compilerOptions, ...rest } = JSON.parse(text) as { compilerOptions?: object }; // only compared
  const left = Object.entries(compilerOptions ?? {}).filter(([name]) => !PLACES.some((place) => place === name));
  return JSON.stringify([left, rest]);
}

/**
 * Creates the directory and its `tsconfig.json`. A file that the user wrote or changed is left alone.
 * @returns the files it wrote
 * @throws GatewayError `UNAVAILABLE` with the error of the file system
 */
export async function prepareDirectory(directory: string): Promise<readonly string[]> {
  const file = join(directory, "tsconfig.json");
  const text = editorConfig();
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const present = await readFile(file, "utf8").catch(() => undefined);
    if (present !== undefined && (present === text || !isOurs(present, text))) return [];
    await writeFile(file, text, { mode: 0o600 });
    return [file];
  } catch (error) {
    const why = messageOf(error);
    throw new GatewayError("UNAVAILABLE", `the transforms directory cannot be prepared: ${why}`, { cause: error });
  }
}
