/** Facts from the package.json of an archive, checked before anything is unpacked. Pure. */
import { apiMismatch, isPackageName, type Manifest, ManifestError, parseManifest } from "@svc/host/local";
import { InstallFailure } from "./failure.ts";

/** Name and manifest of a package. */
export interface PackageFacts {
  readonly name: string;
  readonly manifest: Manifest;
}

/** @param shown name of the package for messages @throws InstallFailure at `manifest` */
export function factsOf(packageJson: string, shown: string): PackageFacts {
  const what = packageObject(packageJson, shown);
  const { name, version } = what;
  if (typeof name !== "string" || !isPackageName(name))
    throw refused(`the package.json of ${shown} has no valid package name`, "give it a name in lower case");
  if (typeof version !== "string" || version === "" || version.length > 256)
    throw refused(`the package.json of ${shown} has no version`, "give it a version, e.g. 0.1.0");
  let manifest: Manifest | undefined;
  try {
    manifest = parseManifest(what, `the package.json of ${name}`, "");
  } catch (error) {
    if (!(error instanceof ManifestError)) throw error;
    throw refused(error.message, "report it to the author of the package");
  }
  if (!manifest)
    throw refused(
      `${name} is not a plugin: its package.json has no "svc.entry"`,
      "check the name; npm install is for libraries",
    );
  const mismatch = apiMismatch(manifest.api);
  if (mismatch)
    throw refused(`${name} ${version} is incompatible: ${mismatch}`, `svc plugins install ${name}@<version>`);
  return { name, manifest };
}

/**
 * @throws InstallFailure at `manifest` for a dependency given as a path, because the path is invalid in the packed
 * package
 */
export function refusePaths(packageJson: string, name: string): void {
  const { dependencies, optionalDependencies } = packageObject(packageJson, name);
  for (const [other, range] of Object.entries({ ...Object(dependencies), ...Object(optionalDependencies) } as object))
    if (/^(?:file|link|portal|workspace):/.test(String(range)))
      throw refused(
        `${name} depends on ${other} by a path (${String(range).slice(0, 200)}), which only exists where the package was developed`,
        "use a published version in package.json; or, for your own directory: svc plugins install <directory> --link",
      );
}

function packageObject(text: string, shown: string): Readonly<Record<string, unknown>> {
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content === "object" && content !== null && !Array.isArray(content)) return { ...content };
  } catch {
    // reported below
  }
  throw refused(`the package.json of ${shown} is not a JSON object`, "report it to the author of the package");
}

function refused(why: string, next: string): InstallFailure {
  return new InstallFailure("manifest", why, next);
}
