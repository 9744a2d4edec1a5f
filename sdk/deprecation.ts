/** Deprecation of parts of the plugin API. */

/** Deprecation notice of a hook, service, extension point or method. Versions are those of `API_VERSION`. */
export interface Deprecation {
  /** First version with the notice. */
  readonly since: string;
  /** First version without the deprecated part; a major version. */
  readonly removedIn: string;
  /** What to use instead, in a few words. */
  readonly instead: string;
}
