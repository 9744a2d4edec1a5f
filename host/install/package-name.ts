/** Names packages may have. Pure. */

/** As npm allows new ones; never taken for an option, never leading anywhere as a path. */
const PACKAGE_NAME = /^(?:@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
const LONGEST = 214;

export function isPackageName(name: string): boolean {
  return name.length <= LONGEST && PACKAGE_NAME.test(name);
}
