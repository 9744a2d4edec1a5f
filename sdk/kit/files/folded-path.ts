/** One spelling for names that are the same file on some disks: those differ in case or in how accents are written. */
export function foldedPath(path: string): string {
  return path.normalize("NFC").toLowerCase();
}
