/** The plugin API as TypeScript of other people gets it: the very instance the host uses. */
import { createRequire } from "node:module";

/** Every entry of the SDK but the one for tests, as an import calls it. */
function sdkEntries(): string[] {
  const { exports } = createRequire(import.meta.url)("@svc/sdk/package.json") as { exports: object };
  return Object.keys(exports)
    .filter((entry) => entry !== "./testing" && entry !== "./package.json")
    .map((entry) => entry.replace(/^\./, "@svc/sdk"));
}

/** @returns the modules by what an import calls them */
export async function sdkModules(): Promise<Record<string, unknown>> {
  return Object.fromEntries(
    await Promise.all(sdkEntries().map(async (name) => [name, (await import(name)) as unknown])),
  );
}
