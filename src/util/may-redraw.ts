/** Whether lines can be drawn again in place: a dumb terminal and the log of a build server show the codes for that. */
export function mayRedraw({ isTTY }: { readonly isTTY?: boolean | undefined }, env: NodeJS.ProcessEnv): boolean {
  return isTTY === true && env['TERM'] !== 'dumb' && env['CI'] !== 'true';
}
