(* Rationals as Coq has them, from decimal digits of any length; and how a certificate is refused. *)
open Extracted

exception Unsupported of string
exception Invalid of string

let need holds message = if not holds then raise (Invalid message)

(* --- numbers: decimal digits of any length *)
let rec halve digits = (* decimal string -> quotient by 2, remainder *)
  let carry = ref 0 in
  let halves = String.map (fun c ->
      let v = !carry * 10 + Char.code c - 48 in carry := v land 1; Char.chr (48 + v / 2)) digits in
  let rec strip i = if i < String.length halves - 1 && halves.[i] = '0' then strip (i + 1) else i in
  let start = strip 0 in
  (String.sub halves start (String.length halves - start), !carry)
and positive digits =
  if digits = "1" then XH
  else let rest, bit = halve digits in if bit = 1 then XI (positive rest) else XO (positive rest)

let is_digits s = s <> "" && String.for_all (fun c -> c >= '0' && c <= '9') s
let strip_zeros s =
  let rec go i = if i < String.length s - 1 && s.[i] = '0' then go (i + 1) else i in
  let i = go 0 in String.sub s i (String.length s - i)

let rational_of_text s =
  let negative = s <> "" && s.[0] = '-' in
  let body = if negative then String.sub s 1 (String.length s - 1) else s in
  let over, under = match String.index_opt body '/' with
    | Some i -> String.sub body 0 i, String.sub body (i + 1) (String.length body - i - 1)
    | None -> body, "1" in
  need (is_digits over && is_digits under && under.[0] <> '0') ("not a rational: " ^ s);
  let over = strip_zeros over in
  let numerator = if over = "0" then Z0 else if negative then Zneg (positive over) else Zpos (positive over) in
  qred { qnum = numerator; qden = positive under }
let rational = function
  | Json.String s -> rational_of_text s
  | Json.Number s when is_digits (if s <> "" && s.[0] = '-' then String.sub s 1 (String.length s - 1) else s) -> rational_of_text s
  | _ -> raise (Invalid "not a rational")
let zero = { qnum = Z0; qden = XH }
let is_zero q = qeq_bool q zero

let one = { qnum = Zpos XH; qden = XH }
let add a b = qred (qplus a b)
let mul a b = qred (qmult a b)
let less a b = not (qle_bool b a)
let sum = List.fold_left add zero
