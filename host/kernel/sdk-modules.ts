/** The SDK modules that imported TypeScript plugins get: the same module instances the host uses. */
import { createRequire } from "node:module";

/** Import specifiers of all SDK entries except the testing kit. */
function sdkEntries(): string[] {
  const { exports } = createRequire(import.meta.url)("@svc/sdk/package.json") as { exports: object };
  return Object.keys(exports)
    .filter((entry) => entry !== "./testing" && entry !== "./package.json")
    .map((entry) => entry.replace(/^\./, "@svc/sdk"));
}

/** @returns the modules by import specifier */
export async function sdkModules(): Promise<Record<string, unknown>> {
  return Object.fromEntries(
    await Promise.all(sdkEntries().map(async (name) => [name, (await import(name)) as unknown])),
  );
}
