/** How a part of the plugin API is marked that will go away. */

/** A mark on a hook, a service, an extension point or a method. Versions are those of `API_VERSION`. */
export interface Deprecation {
  /** First version with the mark. */
  readonly since: string;
  /** First version without the part; a major one. */
  readonly removedIn: string;
  /** What to use then, in a few words. */
  readonly instead: string;
}
