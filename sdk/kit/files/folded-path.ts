/** Folds names that some disks treat as the same file: they differ in case or in the composition of accents. */
export function foldedPath(path: string): string {
  return path.normalize("NFC").toLowerCase();
}
