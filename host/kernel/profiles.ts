/** Named lists of plugins, read from the bundle; none is named here. */
import { createRequire } from "node:module";
import { describeViolations, matches, NonEmpty, type Static, Strict, Type } from "@svc/sdk";
import { BUNDLE_PACKAGE } from "./load.ts";

const Profile = Strict({
  /** One line for users. */
  summary: NonEmpty,
  /** Ids of the plugins of the profile. Absent: the whole bundle. */
  plugins: Type.Optional(Type.Array(NonEmpty, { uniqueItems: true })),
});
export type Profile = Static<typeof Profile>;

const Profiles = Type.Record(NonEmpty, Profile);

/**
 * The profiles under `svc-profiles` of the bundle's package.json, by name; empty if the bundle is not installed.
 * @throws Error that key is invalid
 */
export function bundleProfiles(): ReadonlyMap<string, Profile> {
  const require = createRequire(import.meta.url);
  let file: string;
  try {
    file = require.resolve(`${BUNDLE_PACKAGE}/package.json`);
  } catch {
    return new Map();
  }
  const { "svc-profiles": profiles = {} } = require(file) as { "svc-profiles"?: unknown };
  if (!matches(Profiles, profiles))
    throw new Error(`${file}, key "svc-profiles": ${describeViolations(Profiles, profiles)}`);
  return new Map(Object.entries(profiles));
}
