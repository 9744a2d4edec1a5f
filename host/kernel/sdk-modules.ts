/** The plugin API as TypeScript of other people gets it: the very instance the host uses. */

const ENTRIES = {
  "@svc/sdk": () => import("@svc/sdk"),
  "@svc/sdk/services": () => import("@svc/sdk/services"),
  "@svc/sdk/client": () => import("@svc/sdk/client"),
  "@svc/sdk/errors": () => import("@svc/sdk/errors"),
  "@svc/sdk/device": () => import("@svc/sdk/device"),
  "@svc/sdk/exec": () => import("@svc/sdk/exec"),
  "@svc/sdk/files": () => import("@svc/sdk/files"),
  "@svc/sdk/cli": () => import("@svc/sdk/cli"),
  "@svc/sdk/transform": () => import("@svc/sdk/transform"),
};

export type SdkEntry = keyof typeof ENTRIES;

/** @param names default: all. @returns the modules by what an import calls them */
export async function sdkModules(
  names: readonly SdkEntry[] = Object.keys(ENTRIES) as SdkEntry[], // the keys of the table above
): Promise<Record<string, unknown>> {
  return Object.fromEntries(await Promise.all(names.map(async (name) => [name, await ENTRIES[name]()] as const)));
}
