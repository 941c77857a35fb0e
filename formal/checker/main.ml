(* dpest-checker FILE...: is each certificate accepted by the verified checker?
   dpest-checker -: one certificate a line on standard input, one answer a line.
   Exit status: 0 all accepted, 1 one rejected, 2 one that is out of scope (and none rejected). *)
let answer text =
  match Reader.accepted (Json.parse text) with
  | true -> (0, "accepted")
  | false -> (1, "rejected: the verified checker says no")
  | exception Numbers.Unsupported what -> (2, "out of scope: " ^ what)
  | exception (Numbers.Invalid what | Json.Malformed what) -> (1, "rejected: " ^ what)
  | exception (Failure what | Invalid_argument what) -> (1, "rejected: " ^ what)
  | exception Not_found -> (1, "rejected: something is missing")

let read path =
  let file = open_in_bin path in
  let text = really_input_string file (in_channel_length file) in
  close_in file; text
let worse a b = if a = 1 || b = 1 then 1 else max a b

let () =
  match List.tl (Array.to_list Sys.argv) with
  | [] -> prerr_endline "usage: dpest-checker FILE... | -"; exit 2
  | ["-"] ->
    (try while true do print_endline (snd (answer (input_line stdin))); flush stdout done with End_of_file -> ())
  | files ->
    let said = List.map (fun f -> let code, words = answer (read f) in Printf.printf "%s  %s\n" f words; code) files in
    exit (List.fold_left worse 0 said)
